"""A folder for the work of one process: removed at its end, or by the next one."""

import os
import subprocess
import sys
from pathlib import Path

from tests.commandline import environment

from replan.documents.files import work_folder

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
    (tmp_path / "work-of-another-program").mkdir()
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
