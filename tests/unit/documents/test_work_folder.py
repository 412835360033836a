"""A folder for the work of one process: removed at its end, or by the next one."""

import os
import subprocess
import sys
from pathlib import Path

from tests.commandline import environment

from replan.documents.api import work_folder

HOLD = """
import sys
from pathlib import Path
from replan.documents.files import work_folder
with work_folder(Path(sys.argv[1]), "work-") as folder:
    (folder / "file").write_text("x")
    print(folder.name, flush=True)
    sys.stdin.read()
"""


def test_only_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "work-of-another-program" / "file").mkdir(parents=True)
    (tmp_path / "work-begun").mkdir()  # by a process that was killed before it had a lock
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    names = [holder.stdout.readline().strip() for holder in holders if holder.stdout is not None]
    holders[0].kill()
    holders[0].communicate()
    assert (tmp_path / names[0] / "file").exists()
    with work_folder(tmp_path, "work-") as mine:
        there = {file.name for file in tmp_path.iterdir()}
        assert there == {"work-of-another-program", names[1], mine.name}
        assert os.access(mine, os.W_OK)
    holders[1].communicate()
    assert [file.name for file in tmp_path.iterdir()] == ["work-of-another-program"]


KILLED = """
import os, shutil, sys
from pathlib import Path
from replan.documents.files import work_folder
left = int(sys.argv[2])
def hook(event, arguments):
    global left
    if event in {"os.mkdir", "open", "os.remove", "os.rmdir", "shutil.rmtree"}:
        left -= 1
        if left == 0:
            os._exit(9)
with work_folder(Path(sys.argv[1]), "work-") as folder:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_text("x")
    (folder / "z").write_text("x")
    sys.addaudithook(hook)
"""


def test_nothing_stays_of_a_process_that_is_killed_while_it_removes_its_folder(
    tmp_path: Path,
) -> None:
    for calls in range(1, 30):
        words = [sys.executable, "-c", KILLED, str(tmp_path), str(calls)]
        ended = subprocess.run(words, env=environment(), check=False).returncode
        with work_folder(tmp_path, "work-") as mine:
            assert list(tmp_path.iterdir()) == [mine], calls
        if ended == 0:
            break
    assert calls > 5
