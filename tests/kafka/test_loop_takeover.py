"""The loop on real brokers: what it puts right, what it leaves, and who goes on where it was killed."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.commandline import environment
from tests.kafka.harness.clients import until
from tests.kafka.test_main_job import LISTS, SETTLE, Site, site

__all__ = ["site"]
pytestmark = pytest.mark.nightly  # by day one test has all of it on one topic: test_reconcile.py
POLICY = "reconcile: {putRight: {placementChanged: 0s, changedElsewhere: never}}"


def placement(topic: str, lists: list[list[int]], rate: str = "20MB/s") -> str:
    return (
        f"version: 1\nassignments: {{{topic}: {{partitions: {lists}}}}}\n"
        f"throttles: {{moves: {{rate: {rate}}}}}\n{POLICY}\n"
    )


def commit(repository: Path, text: str) -> None:
    """The placement as the newest commit of a repository."""
    (repository / "placement.yaml").write_text(text, encoding="utf-8")
    for words in (["add", "-A"], ["commit", "-qm", "placement"]):
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *who, *words], cwd=repository, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    return folder


def loop(site: Site, repository: Path, *words: str) -> tuple[str, ...]:
    return ("reconcile", "--git", repository.as_uri(), *SETTLE, *words, *site.flags)


def lists(site: Site) -> list[list[int]]:
    return [of for _, (of, _) in sorted(site.described().items())]


def test_killed_in_the_middle_the_other_one_goes_on_within_a_minute(
    site: Site, repository: Path, tmp_path: Path
) -> None:
    before = [list(of) for of in LISTS]
    commit(repository, placement(site.topic, before, "2MB/s"))
    every, logs = ("--every", "3s"), (tmp_path / "first.log", tmp_path / "second.log")
    with running(loop(site, repository, *every), site.folder, logs[0]) as first:
        until(lambda: "at rest" in logs[0].read_text(), "the lease of the first", limit_seconds=60)
        with running(loop(site, repository, *every), site.folder, logs[1]):
            until(lambda: "another loop" in logs[1].read_text(), "that it waits", limit_seconds=60)
            commit(repository, placement(site.topic, [[4, 2, 5], *before[1:]], "2MB/s"))
            until(lambda: len(lists(site)[0]) > 3, "a copy that runs", limit_seconds=90)
            first.send_signal(signal.SIGKILL)
            first.wait()
            until(lambda: lists(site)[0] == [4, 2, 5], "the end of the round", limit_seconds=240)
            until(lambda: site.leftovers() == [], "its throttles restored", limit_seconds=120)


@contextmanager
def running(command: tuple[str, ...], folder: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that writes what it says into a file."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "replan", *command],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
