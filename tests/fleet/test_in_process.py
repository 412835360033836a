"""The processes of the local engine: they end with the one that started them, and say nothing of it."""

import subprocess
import sys

import pytest
from tests.commandline import LIMIT_SECONDS, environment

pytestmark = pytest.mark.slow

WORK = """
import os, signal
from replan.fleet.in_process import MUCH, Here
from replan.fleet.lake.delta import Lake
from replan.fleet.do_task import DRIFT_STAGES
from replan.fleet.tasks.work import Task

if __name__ == "__main__":
    tasks = [Task(str(n), "id", "2026-11-21T03:00:00Z", "nowhere.yaml", "lake", partitions=MUCH) for n in range(4)]
    try:
        for number, _ in enumerate(Here().do_tasks(tasks, DRIFT_STAGES, Lake('lake'), 'run')):
            if number == 2:
                {end}
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("os.killpg(0, signal.SIGINT)", 0, "interrupted\n"),
    ],
    ids=["killed", "interrupted"],
)
def test_workers_end_with_the_process_that_started_them(
    tmp_path_factory: pytest.TempPathFactory, end: str, code: int, said: str
) -> None:
    script = tmp_path_factory.mktemp("work") / "work.py"
    script.write_text(WORK.format(end=end))
    done = subprocess.run(  # whoever is left keeps the outputs open
        [sys.executable, str(script)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
        start_new_session=True,
    )
    assert (done.returncode, done.stdout) == (code, said), done.stderr
    assert "Traceback" not in done.stderr  # Python's own tracker of resources notices a kill
