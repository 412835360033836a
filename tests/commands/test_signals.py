"""Signals at any moment, streams that close, disks that are full: a clean stop or an unchanged result."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commandline import PROGRAM, checked, environment, in_shell, python, replan
from tests.profiles import by_profile

from replan.applying.api import peek

pytestmark = [pytest.mark.command, pytest.mark.slow]
EXAMPLE = Path(__file__).parents[2] / "examples" / "demo"
CLUSTER_ID = json.loads((EXAMPLE / "cluster.json").read_text())["clusterId"]
SIMULATED = ("--simulated", "cluster.json")
APPLY = ("apply", "plan.json", *SIMULATED)
AT_AN_EVENT = """
import os, signal, sys
at, number = int(sys.argv.pop(1)), signal.Signals[sys.argv.pop(1)]
seen = 0
def signal_at(event, found):
    global seen
    seen += 1
    if seen == at:
        os.kill(os.getpid(), number)
from replan.__main__ import main
sys.addaudithook(signal_at)
try:
    main()
finally:
    os.write(2, f"events: {seen}\\n".encode())
"""
"""Runs the command and sends itself a signal at the nth import, opened file, rename, socket and the like."""

AT_A_CALL = """
import os, signal, sys
name = sys.argv.pop(1)
def signal_at(frame, event, _):
    if event == "call" and frame.f_code.co_name == name:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
from replan.main import main
sys.setprofile(signal_at)
main()
"""
"""Runs the command and sends itself a signal when a function is called."""


@pytest.fixture
def folder(folder: Path) -> Path:
    checked("plan", *SIMULATED, "-o", "plan.json", folder=folder, wanted=2)
    return folder


def run_with_signal(
    number: str, at: int, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return python("-c", AT_AN_EVENT, str(at), number, *arguments, folder=folder)


def events(folder: Path, *arguments: str) -> int:
    done = run_with_signal("SIGINT", 0, folder, *arguments)
    return int(done.stderr.rsplit("events: ", 1)[1])


def copies(folder: Path, tmp: Path, number: int) -> Iterator[tuple[int, Path]]:
    """So many fresh copies of a folder."""
    for each in range(number):
        copy = tmp / f"run-{each}"
        shutil.copytree(folder, copy)
        yield each, copy


def finishes(folder: Path) -> None:
    """The same command completes, and leaves nothing behind."""
    checked(*APPLY, folder=folder)
    assert "throttled" not in (folder / "cluster.json").read_text()


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_at_any_moment_of_apply_is_a_clean_stop_or_no_stop(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, number: str
) -> None:
    runs = by_profile(fast=1, ci=3 if number == "SIGINT" else 2, nightly=20)
    tmp = tmp_path_factory.mktemp("runs")
    shutil.copytree(folder, tmp / "count")
    total = events(tmp / "count", *APPLY)
    for each, copy in copies(folder, tmp, runs):
        done = run_with_signal(number, 1 + each * total // runs, copy, *APPLY)
        assert done.returncode in {0, 130}, done.stderr
        assert "Traceback" not in done.stderr
        assert "interrupted" in done.stdout + done.stderr or done.returncode == 0
        finishes(copy)


@pytest.mark.parametrize("number", ["INT", "HUP"])
def test_what_is_ignored_when_apply_starts_does_not_stop_it(folder: Path, number: str) -> None:
    """A script's `replan apply … &` goes on at a ^C, and one after `nohup` when the terminal closes."""
    signalled = (sys.executable, "-c", AT_AN_EVENT, "1", f"SIG{number}", *APPLY)
    done = in_shell(f'trap "" {number}; exec "$@"', *signalled, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "interrupted" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("plan", *SIMULATED), ("--version",)], ids=" ".join)
def test_a_signal_at_any_moment_of_a_command_that_reads_is_no_traceback(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    total, runs = events(folder, *arguments), by_profile(fast=1, ci=2, nightly=20)
    result = replan(*arguments, folder=folder).returncode
    for each in range(runs):
        done = run_with_signal("SIGINT", 1 + each * total // runs, folder, *arguments)
        assert done.returncode in {result, 130}, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("note", ("status", "--simulated", "nosuch.json")),
        ("keep_result", ("--version",)),
    ],
    ids=["while an error is printed", "when the result is known"],
)
def test_a_signal_when_a_command_is_over_is_no_traceback(
    folder: Path, function: str, arguments: tuple[str, ...]
) -> None:
    done = python("-c", AT_A_CALL, function, *arguments, folder=folder)
    assert done.returncode == 130
    assert done.stderr == "replan: interrupted\n"


def test_a_crash_in_a_library_says_where_it_was_called(folder: Path) -> None:
    done = run_with_signal("SIGSEGV", events(folder, *APPLY) // 2, folder, *APPLY)
    assert done.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in done.stderr
    assert "replan/main.py" in done.stderr


def test_a_reader_that_leaves_changes_nothing_of_an_application(folder: Path) -> None:
    script = '{ "$@" 2>&1; echo $? >code; } | head -1'
    done = in_shell(script, *PROGRAM, *APPLY, "--verbose", folder=folder)
    assert done.stdout.count("\n") == 1
    assert (folder / "code").read_text() == "0\n"
    finishes(folder)


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_stream_that_is_closed_from_the_beginning_changes_nothing_of_an_application(
    folder: Path, closed: str
) -> None:
    done = in_shell(f'exec "$@" {closed}>&-', *PROGRAM, *APPLY, folder=folder)
    assert done.returncode == 0
    assert "4 moves in 29 s" in done.stdout + done.stderr
    assert peek(folder / "cluster.json.journal", CLUSTER_ID)
    finishes(folder)


def test_a_closed_stderr_is_not_where_the_journal_is_opened(folder: Path) -> None:
    program = (
        "import os, runpy, sys; sys.argv[0] = 'replan'; "
        "os.close(0); os.close(1); os.close(2); "
        "sys.stdin = sys.stdout = sys.stderr = None; "
        "import atexit; atexit.register(lambda: os.write(2, b'a library writes to descriptor 2')); "
        "runpy.run_module('replan', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *APPLY], cwd=folder, env=environment(), check=False
    )
    assert done.returncode == 0
    assert peek(folder / "cluster.json.journal", CLUSTER_ID)
    finishes(folder)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("plan", *SIMULATED), 2),
        (("--help",), 0),
        (("plan", "--help"), 0),
        (("fleet", "-h"), 0),
    ],
)
def test_a_pipe_that_closes_early_is_no_error_of_a_command_that_prints(
    folder: Path, words: tuple[str, ...], code: int
) -> None:
    done = in_shell('{ "$@"; echo $? >code; } | true', *PROGRAM, *words, folder=folder)
    assert (folder / "code").read_text() == f"{code}\n"
    assert done.stderr == ""


def test_where_the_disk_is_full_apply_leaves_and_the_next_run_completes(folder: Path) -> None:
    limit = (folder / "cluster.json").stat().st_size + 2_000

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [
            sys.executable,
            "-B",
            "-m",
            "replan",
            *APPLY,
        ],  # or Python leaves half a .pyc for all others
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=full,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert os.strerror(27) in done.stdout + done.stderr
    finishes(folder)
