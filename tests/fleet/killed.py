"""Runs `replan fleet run`, killed at one place after the other, and again until it comes to its end.

    python killed.py TEMPLATE HOMES before|middle|chain

A place is a moment at which a table of the lake is about to be written, or a file of the report; from one to the next
lie the stages. `before`: at each place a run is killed in a copy of the template, before anything is written there, and
is done again; `middle`: the same, some milliseconds later; `chain`: in one copy each run is killed one place later than
the last. Prints a JSON line for each place: its copy, its name, how the run ended, and the exit code of the one after.

Each run is a fork of this process, which has imported the program and done nothing with it: so none waits for imports.
The place is found by a profile function, which sees calls and changes nothing.
"""

import json
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

import deltalake  # noqa: F401 - imported once, for all forks

import replan.commands.fleet.observe
import replan.fleet.reports.files
import replan.fleet.stages.cost
import replan.fleet.stages.history
import replan.fleet.stages.plan
import replan.fleet.stages.rates  # noqa: F401 - likewise
from replan.documents.api import replace_file
from replan.fleet.api import commit_files
from replan.main import run

PLACE = "place"
"""The file that says where the last killed run of a copy was."""
PLACES: dict[CodeType, str] = {
    commit_files.__code__: "table",
    replace_file.__code__: "target",
}
"""What writes, and which of its arguments says what."""
MOST_SECONDS = 0.02
"""How long after a place a run is killed in the middle; a commit takes some 10 ms."""


def main(template: Path, homes: Path, way: str) -> None:
    """All places, until a run comes to its end."""
    chance = Random(0)  # noqa: S311 - the same delays every time
    for number in count():
        home = homes / ("chain" if way == "chain" else f"{number:03d}")
        if not home.exists():
            shutil.copytree(template, home)
        seconds = chance.uniform(0.0005, MOST_SECONDS) if way == "middle" else 0.0
        ended = forked(home, number, seconds)
        again = None if way == "chain" else forked(home, None, 0.0)
        place = (home / PLACE).read_text(encoding="utf-8") if ended < 0 else None
        said = {"home": home.name, "place": place, "ended": ended, "again": again}
        sys.stdout.write(json.dumps(said) + "\n")
        if place is None:
            return


def forked(home: Path, at: int | None, seconds: float) -> int:
    """How a run ends, killed at a place: its exit code, or less than zero the signal."""
    child = os.fork()
    if child == 0:
        os.chdir(home)
        if at is not None:
            sys.setprofile(Killer(at, seconds))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os._exit(run(["fleet", "run", "-o", "report"]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Killer:
    """Counts the places, and ends this process at one of them."""

    def __init__(self, at: int, seconds: float) -> None:
        self.left = at
        self.seconds = seconds

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        named = PLACES.get(frame.f_code) if event == "call" else None
        if named is None:
            return
        self.left -= 1
        if self.left >= 0:
            return
        found = frame.f_locals[named]
        sys.setprofile(None)
        Path(PLACE).write_text(found.name, encoding="utf-8")
        if not self.seconds:
            os.kill(os.getpid(), signal.SIGKILL)
        # The kernel ends the process at whatever instruction it is, in the library that commits, too.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
