"""The command as a person runs it: a process of its own, in a folder, with its exit code and both outputs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from tests.forks import fork

from replan.commands.api import CommandGroup
from replan.main import Replan

CLI = Path(__file__).parents[1] / "cli"
LIMIT_SECONDS = 240
PROGRAM = (sys.executable, "-m", "replan")
STARTED = {"spark", "--master", "--remote", "--runs", "--version"}
"""Words of commands that start Python: they have processes of their own, or other modules than the rest."""
FORKED = {
    *("HOME", "XDG_STATE_HOME", "TMPDIR", "COLUMNS"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    *("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP", "AWS_REGION"),
}
"""Variables that Python itself does not read when it starts."""


def environment(**more: str) -> dict[str, str]:
    """The environment of the command, with the checkout importable and nothing of replan's own set."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("REPLAN_")}
    return {**kept, "PYTHONPATH": str(CLI), **more}


def replan(*arguments: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, without a start of Python (`forks`) where nothing depends on that."""
    if STARTED.isdisjoint(arguments) and more.keys() <= FORKED:
        surroundings = environment(**more)
        return fork(arguments, folder=folder, environment=surroundings, seconds=LIMIT_SECONDS)
    return python("-m", "replan", *arguments, folder=folder, **more)


def python(*arguments: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python to its end, with the checkout importable."""
    return _ended([sys.executable, *arguments], folder, **more)


def in_shell(script: str, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of sh to its end, in which `"$@"` is the command."""
    return _ended(["sh", "-c", script, "sh", *command], folder)


def _ended(command: Sequence[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )


def checked(
    *arguments: str, folder: Path, wanted: int = 0, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, which must be this exit code, without a traceback."""
    done = replan(*arguments, folder=folder, **more)
    shown = f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == wanted, shown
    assert "Traceback" not in done.stderr, shown
    return done


def start(
    arguments: Sequence[str], *, folder: Path, log: int = subprocess.PIPE, **more: str
) -> subprocess.Popen[str]:
    """Start the command, whose outputs go into pipes or this file; the caller ends it."""
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        text=True,
    )


@contextmanager
def started(
    arguments: Sequence[str], *, folder: Path, log: int = subprocess.PIPE, **more: str
) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs; it is killed if it still does at the end."""
    process = start(arguments, folder=folder, log=log, **more)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press ^C, and tell how it ended: exit code, stdout, stderr."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    return process.returncode, out, err


def built(words: str) -> click.Command:
    """The command of these words, as a process would build it."""
    found: click.Command = Replan()
    for word in words.split():
        assert isinstance(found, CommandGroup)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    return found
