"""Opening an application: its id, its plan in pieces, and what is forgotten for it."""

from msgspec.structs import replace
from tests.builders import CLUSTER_ID, move, state
from tests.unit.applying.lab import MB, lab

from replan.applying.api import (
    CHUNK_CHARACTERS,
    KEPT_APPLICATIONS,
    Application,
    ApplicationStatus,
    Forget,
    Ledger,
    Settings,
    closing,
    fold,
    open_plan,
    opening,
)
from replan.model.api import BrokerId
from replan.planning.api import Plan, digest

ANN = Settings(owner="ann")
PLAN = Plan(
    CLUSTER_ID,
    "m" * 64,
    {BrokerId(b): None for b in range(1, 6)},
    tuple(move([1, 2, 3], [4, 2, 5], partition=n) for n in range(2_000)),
)
DIGEST = digest(PLAN)


def closed(number: int) -> Application:
    status = ApplicationStatus.CLOSED
    return Application(f"{DIGEST[:12]}-{number}", status, DIGEST, "m" * 64, CLUSTER_ID, "ann")


def test_a_long_plan_is_read_again_from_its_pieces() -> None:
    opened = opening(PLAN, DIGEST, Ledger(), ANN)
    assert all(len(r.text) <= CHUNK_CHARACTERS for r in opened if hasattr(r, "text"))
    assert open_plan(fold(opened)) == PLAN


def test_of_the_closed_applications_only_the_last_are_kept() -> None:
    before = [closed(number) for number in range(1, KEPT_APPLICATIONS + 4)]
    application, *more = opening(PLAN, DIGEST, fold(before), ANN)
    assert application.key == f"app/{DIGEST[:12]}-{KEPT_APPLICATIONS + 4}"
    assert [r.key for r in more if isinstance(r, Forget)] == [a.key for a in before[:3]]


def test_it_is_written_when_it_was_opened_and_ended() -> None:
    opened = opening(PLAN, DIGEST, Ledger(), replace(ANN, moment=lambda: "2026-11-22T07:00:00Z"))
    ended, *_ = closing(
        fold(opened), ApplicationStatus.CLOSED, "done", "2026-11-22T08:00:00Z", None
    )
    assert isinstance(ended, Application)
    assert (ended.opened_at, ended.ended_at) == ("2026-11-22T07:00:00Z", "2026-11-22T08:00:00Z")


def test_an_id_is_not_given_twice_although_earlier_ones_are_forgotten() -> None:
    application, *_ = opening(PLAN, DIGEST, fold([closed(7), closed(9)]), ANN)
    assert application.key == f"app/{DIGEST[:12]}-10"


def test_nothing_is_copied_for_a_list_that_stands_already() -> None:
    there = move([1, 2, 3], [4, 2, 5], partition=0, size=20 * MB)
    to_do = move([2, 3, 1], [4, 3, 1], partition=1, size=5 * MB)
    of = [state(there.target, partition=0, size=20 * MB)]
    made = lab(of, [there])
    performed = made.apply().performed
    assert performed is not None
    assert (performed.copied_bytes, performed.throttles) == (0, None)
    (ended,) = (r for r in made.journal.read() if isinstance(r, Application))
    assert ended.bytes == 0
    made = lab([*of, state(to_do.original, partition=1, size=5 * MB)], [there, to_do])
    performed = made.apply().performed
    assert performed is not None
    assert performed.copied_bytes == 5 * MB
