"""What has to know every kind of step beside its own module; a new kind needs a line in `examples`."""

import json
from collections.abc import Callable, Mapping

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from tests.builders import TOPIC
from tests.unit.applying.examples import OF_KINDS
from tests.unit.applying.lab import Lab

from replan.applying.api import (
    KINDS,
    NOT_LOOKED_UP,
    RECOVERIES,
    AnyKind,
    ApplicationStatus,
    Job,
    Originals,
    RecoveryRecord,
    ending_records,
    open_application_view,
    unpacked,
)
from replan.commands.api import plan_about
from replan.errors import Exit
from replan.placement_file.api import read_schema
from replan.planning.api import digest, dumps, loads
from replan.rehearsal.api import Options, rehearse_plan, snapshot_of_plan
from replan.reporting.api import before_moves, compare_plans, drawn, plan_lines

LABS: Mapping[AnyKind, Callable[[], Lab]] = {e.kind: e.made for e in OF_KINDS.values() if e.kind}
ALONE = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)


def alone(kind: AnyKind) -> Lab:
    """A cluster with a plan that has steps of this kind and nothing else."""
    made = LABS[kind]()
    made.plan = replace(made.plan, moves=())
    return made


def steps_of(kind: AnyKind, made: Lab) -> int:
    """How many steps of the kind have not ended, by the journal."""
    return len(kind.pending(Job.of(made.plan, made.settings), made.ledger))


@ALONE
def test_a_plan_of_it_alone_changes_something_and_comes_back_from_its_file(
    kind: AnyKind,
) -> None:
    made = alone(kind)
    assert made.plan.steps == steps_of(kind, made) > 0
    text = dumps(made.plan)
    assert loads(text, "plan.json") == made.plan
    Draft202012Validator(read_schema("plan.v1.json")).validate(json.loads(text))


@ALONE
def test_people_see_it_in_the_plan_and_in_no_part_that_is_of_something_else(
    kind: AnyKind,
) -> None:
    plan = alone(kind).plan
    nothing = plan.only(lambda _: False)
    assert drawn(plan_lines(plan)) != drawn(plan_lines(nothing))
    assert list(before_moves(plan, 10)), "before_moves says nothing of it"
    assert len(compare_plans(nothing, plan).settings) >= plan.steps
    assert plan_about(plan, [TOPIC], ()).changes
    assert not plan_about(plan, ["another"], ()).changes


@ALONE
def test_it_is_applied_once_and_applied_again_where_it_was_undone(kind: AnyKind) -> None:
    made = alone(kind)
    assert not kind.there(made.plan, made.plane)
    assert made.apply().exit_code is Exit.OK
    assert kind.there(made.plan, made.plane)


@ALONE
def test_a_plan_back_knows_that_it_was_applied(kind: AnyKind) -> None:
    made = alone(kind)
    made.apply()
    ledger = made.ledger
    [application] = ledger.applications(digest(made.plan))
    kept = unpacked(ledger, application)
    assert kept is not None
    assert replace(kept, throttle=None) != Originals([]), "it keeps nothing in Originals"


@ALONE
def test_its_plan_says_enough_of_the_cluster_to_be_rehearsed(kind: AnyKind) -> None:
    plan = alone(kind).plan
    rehearsed = rehearse_plan(plan, snapshot_of_plan(plan), Options())
    assert rehearsed.exit_code is Exit.OK, f"snapshot_of lacks what it needs: {rehearsed.text}"


@ALONE
def test_status_says_that_it_waits(kind: AnyKind) -> None:
    made = alone(kind)
    made.apply(stop=lambda: True)
    open_now = open_application_view(made.ledger, made.plan, None, NOT_LOOKED_UP)
    assert open_now is not None
    assert len(open_now.unfinished) > 0


@ALONE
def test_of_an_ended_application_only_what_is_lost_stays_written_down(kind: AnyKind) -> None:
    made = alone(kind)
    seconds = 4 if kind.copies else 1  # a throttle is set first
    made.apply(stop=made.stop_at(made.clock.now() + seconds))
    ledger = made.ledger
    assert ledger.application is not None
    assert list(ledger.steps)
    over = ending_records(
        ledger.application, ledger.records.values(), ApplicationStatus.CLOSED, "", ""
    )
    left = [*ledger.after(over).records.values()]
    kept = [r for r in ledger.steps if r in left]
    assert all(isinstance(record, RecoveryRecord) for record in kept)
    assert bool(kept) == (kind is RECOVERIES)


def test_every_kind_has_an_example() -> None:
    assert set(LABS) == set(KINDS), "a kind of step needs an example in OF_KINDS"
