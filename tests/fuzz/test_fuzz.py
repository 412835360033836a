"""Whatever a file holds, reading it and using it ends in a result or in an error of replan's own: never in a traceback.

Every input is made from its number, so a failure names what to run again. CI takes 500, the nightly run 100,000.
"""

import contextlib
import hashlib
import json
import re
import resource
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import pytest
from tests.commandline import replan
from tests.fuzz.mutations import changed_bytes, changed_value
from tests.fuzz.placements import changed_placement, cluster
from tests.readings import plan_text as text_of_plan

from replan.applying.api import (
    Settings,
    encode_record,
    fold,
    journal_head,
    open_plan,
    opening,
    peek,
    render,
)
from replan.commands.api import read_plan
from replan.errors import BadPlacement, Exit, ReplanError, UnsafePlan
from replan.model.api import Placement, Snapshot
from replan.placement_file.api import load_placement
from replan.planning.api import Plan, digest, dumps, make_plan
from replan.rehearsal.api import quick_rehearsal
from replan.reporting.api import PlanContext
from replan.simulator.api import open_simulated
from replan.snapshots.api import from_document, read_snapshot, write_snapshot

EXAMPLE = Path(__file__).parents[2] / "examples" / "demo"
SECONDS, BYTES = 10, 2**30
CLUSTER = json.loads((EXAMPLE / "cluster.json").read_text())
ANN = Settings(owner="ann@ops-1")
NIGHTLY = [pytest.param(n, marks=pytest.mark.nightly) for n in range(100, 300)]
BATCH = 25
"""Inputs of one kind in one test."""


@cache
def placement() -> Placement:
    return load_placement([EXAMPLE / "placement.yaml"])


@cache
def observed() -> Snapshot:
    return read_snapshot(EXAMPLE / "cluster.json")


@cache
def of_examples() -> Snapshot:
    """A cluster that most examples of placements fit."""
    return from_document(cluster(), "cluster.json")


@cache
def planned() -> Plan:
    return make_plan(placement(), observed())


@cache
def plan_text() -> str:
    return dumps(planned())


@cache
def opened() -> Sequence[tuple[str, bytes | None]]:
    """The records of an application that begins, as a journal keeps them."""
    return [encode_record(r) for r in opening(planned(), digest(planned()), fold([]), ANN)]


@contextlib.contextmanager
def within_limits() -> Iterator[None]:
    """10 s of CPU for one input, whatever else the machine does, and 1 GB of memory beside what the process has."""

    def too_long(_number: int, _frame: object) -> None:
        pytest.fail(f"one input took {SECONDS} s")

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, before[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGPROF, handler)


def a_plan(folder: Path, chance: Random) -> None:
    text = plan_text()
    if chance.random() < 0.2:
        (folder / "plan.json").write_bytes(changed_bytes(text.encode(), chance))
    else:
        document = changed_value(json.loads(text), chance)
        (folder / "plan.json").write_text(_sealed(document))
    plan = read_plan(folder / "plan.json")
    text_of_plan(plan, PlanContext(rehearsed=quick_rehearsal(plan, observed())[0]))


def _sealed(document: object) -> str:
    """As a plan file is laid out, with the digest that it should have, so that nothing but the content is wrong."""
    if not isinstance(document, dict):
        return json.dumps(document)
    rows = {k: v for k, v in document.items() if k != "digest"}
    lines = []
    for key, value in rows.items():
        line = json.dumps(value, ensure_ascii=False)
        if key in {"topics", "moves"} and isinstance(value, list) and value:
            line = (
                "["
                + ",".join("\n  " + json.dumps(row, ensure_ascii=False) for row in value)
                + "\n]"
            )
        lines.append(f"{json.dumps(key, ensure_ascii=False)}: {line}")
    body = "{\n" + ",\n".join(lines) + "\n}\n"
    seal = hashlib.sha256(body.encode(errors="replace")).hexdigest()
    return re.sub(r"\n\}\n$", lambda _: f',\n"digest": "{seal}"\n}}\n', body)


def a_placement(folder: Path, chance: Random) -> None:
    """A mistake has a place within the file, and what is planned of it is no bug."""
    path = folder / "placement.yaml"
    path.write_bytes(changed_placement(chance))
    try:
        text_of_plan(make_plan(load_placement([path]), of_examples()))
    except BadPlacement as wrong:
        _has_places(str(wrong), path)
        raise
    except UnsafePlan as refused:
        if "bug in replan" in str(refused):
            pytest.fail(str(refused))
        raise


def _has_places(told: str, path: Path) -> None:
    """Each line of an error says which line of the file it is about, but where the whole file is no text."""
    most = len(re.split("\r\n|[\r\n\x85\u2028\u2029]", path.read_text(errors="replace")))
    for line in told.splitlines():
        found = re.match(rf"{re.escape(str(path))}(?::(\d+)(?::\d+)?)?: |and \d+ more", line)
        assert found is not None, line
        assert int(found[1] or 1) <= most, line


def a_snapshot(folder: Path, chance: Random) -> None:
    path = folder / "cluster.json"
    if chance.random() < 0.2:
        path.write_bytes(changed_bytes((EXAMPLE / "cluster.json").read_bytes(), chance))
    else:
        path.write_text(json.dumps(changed_value(CLUSTER, chance)))
    found = read_snapshot(path)
    text_of_plan(make_plan(placement(), found))
    with contextlib.closing(open_simulated(path)) as plane:
        plane.observe()


def a_parquet_folder(folder: Path, chance: Random) -> None:
    path = folder / "snapshot"
    if path.exists():
        shutil.rmtree(path)
    write_snapshot(observed(), path)
    file = chance.choice(sorted(path.iterdir()))
    file.write_bytes(changed_bytes(file.read_bytes(), chance))
    text_of_plan(make_plan(placement(), read_snapshot(path)))


def a_journal(folder: Path, chance: Random) -> None:
    cluster_id, path = planned().cluster_id, folder / "journal"
    begun = journal_head(cluster_id, [], at="")
    if chance.random() < 0.5:
        path.write_bytes(changed_bytes(begun + render(opened(), after=1, at=""), chance))
    else:  # sound lines, with a value that no version wrote
        pairs = [
            (key, json.dumps(changed_value(json.loads(value or b"null"), chance)).encode())
            if chance.random() < 0.5
            else (key, value)
            for key, value in opened()
        ]
        path.write_bytes(begun + render(pairs, after=1, at=""))
    open_plan(fold(peek(path, cluster_id)))


KINDS: tuple[Callable[[Path, Random], None], ...] = (
    a_placement,
    a_plan,
    a_snapshot,
    a_parquet_folder,
    a_journal,
)


def tried(make: Callable[[Path, Random], None], number: int, folder: Path) -> None:
    try:
        with within_limits(), contextlib.suppress(ReplanError):
            make(folder, Random(number))  # noqa: S311 (repeatable, not secret)
    except Exception as error:
        raise AssertionError(f"{make.__name__}, input {number}: {error!r}") from error


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(500 // BATCH // len(KINDS)))
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_a_bad_input_is_an_error_in_words(
    make: Callable[[Path, Random], None], batch: int, tmp_path: Path
) -> None:
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        tried(make, number, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("batch", range(10))
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_so_are_100_000(make: Callable[[Path, Random], None], batch: int, tmp_path: Path) -> None:
    size = 10_000 // len(KINDS)
    for number in range(10**6 + batch * size, 10**6 + (batch + 1) * size):
        tried(make, number, tmp_path)


DOCUMENTED = {Exit.OK, Exit.ERROR, Exit.CHANGES, Exit.REFUSED}
"""Of `plan` from a snapshot, without another tool at work in it."""


@pytest.mark.command
@pytest.mark.parametrize("number", [*range(6), *NIGHTLY])
def test_the_command_says_what_is_wrong_with_a_placement(number: int, tmp_path: Path) -> None:
    """By its exit code, too, and in `validate`, which knows no cluster."""
    (tmp_path / "placement.yaml").write_bytes(changed_placement(Random(number)))  # noqa: S311
    (tmp_path / "cluster.json").write_text(json.dumps(cluster()))
    valid = replan("validate", folder=tmp_path)
    done = replan("plan", "--snapshot", "cluster.json", folder=tmp_path)
    shown = valid.stdout + valid.stderr + done.stdout + done.stderr
    assert "Traceback" not in shown, shown
    assert valid.returncode in {Exit.OK, Exit.ERROR}, shown
    assert done.returncode in ({Exit.ERROR} if valid.returncode else DOCUMENTED), shown
    if done.returncode == Exit.ERROR:
        assert done.stderr.splitlines()[-1].startswith(("replan: ", "placement.yaml", "and ")), (
            shown
        )
