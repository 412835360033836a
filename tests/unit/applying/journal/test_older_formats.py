"""Applications that earlier versions opened, kept as they wrote them: each can be abandoned, most can be resumed.

A folder for each format: the state of an embedded cluster, and the journal of the `apply` that was killed on it while
its throttles were set.
"""

import shutil
from pathlib import Path

import pytest

from replan.applying.abandoning import RunningCopies, abandon
from replan.applying.clear import throttle_clear
from replan.applying.journal.file import FileJournal, peek
from replan.applying.journal.ledger import fold
from replan.applying.journal.records import ApplicationStatus, Order, OriginalsChunk
from replan.applying.run.opening import open_plan
from replan.applying.settings import Settings
from replan.errors import BadFile, Exit
from replan.model.control_plane import Wanted
from replan.model.names import replicas
from replan.simulator.open_file import open_simulated

SAMPLES = Path(__file__).parent / "samples"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.fixture(params=sorted(path.name for path in SAMPLES.iterdir()))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / request.param, tmp_path / request.param))


def test_an_application_of_an_earlier_version_is_abandoned_and_its_throttles_are_restored(
    folder: Path,
) -> None:
    plane = open_simulated(folder / "cluster.json")
    with FileJournal(folder / "cluster.json.journal", CLUSTER_ID) as journal:
        before = fold(journal.read())
        assert before.application is not None
        assert (len(before.entries), len(before.rates)) == (2, 5)
        outcome = abandon(
            plane,
            plane,
            journal,
            plane.clock,
            settings=Settings(),
            copies=RunningCopies.UNTHROTTLED,
        )
        after = fold(journal.read())
    found = plane.look(Wanted(topics=["orders"], rates_of=replicas(1, 2, 3, 4, 5)))
    plane.close()
    assert outcome.exit_code is Exit.OK
    assert (after.application, len(after.entries), len(after.rates)) == (None, 0, 0)
    assert found.topics["orders"].leader_throttled is None
    assert found.topics["orders"].follower_throttled is None
    assert not any(found.rates.values())
    kept = fold(peek(folder / "cluster.json.journal", CLUSTER_ID)).records.values()
    ended = [r for r in kept if not isinstance(r, Order | OriginalsChunk)]
    assert [getattr(r, "status", None) for r in ended] == [ApplicationStatus.ABANDONED]


def test_throttle_clear_needs_no_plan_and_keeps_what_running_copies_need(folder: Path) -> None:
    plane = open_simulated(folder / "cluster.json")
    with FileJournal(folder / "cluster.json.journal", CLUSTER_ID) as journal:
        outcome = throttle_clear(plane, plane, journal, plane.clock, settings=Settings())
        after = fold(journal.read())
    plane.close()
    assert outcome.exit_code is Exit.OK
    assert after.application is not None
    assert len(after.entries) == 2


def test_a_plan_of_format_1_is_refused_by_its_number(tmp_path: Path) -> None:
    ledger = fold(peek(SAMPLES / "plan-format-1" / "cluster.json.journal", CLUSTER_ID))
    with pytest.raises(BadFile, match="plan format 1, this replan reads"):
        open_plan(ledger)
