"""Whatever placement stands beside whatever cluster: a plan, or an error that says where, and never a bug of replan.

Each is read and planned, and some are compared and explained, as the commands do. What is planned keeps the rules, the
plan after it is empty, and another order of the input gives the same plan.
"""

import re
import time
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st
from tests.profiles import examples
from tests.properties.any_placements import Case, cases, ended
from tests.properties.drawn_placements import apart, broken, drawn
from tests.properties.test_all_keys import RATES, World, shuffled
from tests.readings import plan_text

from replan.errors import BadPlacement, UnsafePlan
from replan.model.api import Placement, Snapshot, TopicPartition
from replan.planning.api import Plan, drift_report, dumps, explain_partition, loads, make_plan
from replan.reporting.api import render_drift, render_explanation

LONGEST = 10
"""CPU seconds for all that is asked of one file."""
PARTS = (
    *("placement_digest", "throttle"),
    *("moves", "creates", "log_moves", "standing", "recoveries"),
)
"""What the order of mappings in a file changes nothing of; places in the file are not in it."""
PLACE = re.compile(r"placement\.yaml:(\d+):\d+: ")


WHOLE = st.one_of(drawn(), apart()).map(lambda world: Case(world, arrives=True))
"""Beside a cluster that lacks nothing: what is planned is always thought to its end."""


@given(st.one_of(cases(), WHOLE), st.randoms(use_true_random=False))
@examples(fast=10, full=120, nightly=28_000)
def test_any_placement_is_planned_or_refused_in_words(case: Case, chance: Any) -> None:
    begun = time.process_time()
    try:
        check(case, chance)
    except BadPlacement as wrong:
        note(str(wrong))
        for line in str(wrong).splitlines():
            assert PLACE.match(line) or line.startswith("and "), line
    except UnsafePlan as refused:
        if "bug in replan" in str(refused):
            raise
    assert time.process_time() - begun < LONGEST


def check(case: Case, chance: Any) -> None:
    """All that is asked of one; raises what replan says of it."""
    world = case.world
    asked, seen = world.placement(), world.snapshot()
    if chance.random() < 1 / 4:
        shown_drift(asked, seen)
        explained(asked, seen, chance.choice(names_of(seen)))
    made = make_plan(asked, seen, rates=RATES)
    assert loads(dumps(made), "plan.json") == made
    assert plan_text(made).endswith("\n")
    if chance.random() < 1 / 4:
        for name in [r.partition for r in made.refusals][:1]:
            explained(asked, seen, name)
    as_written = chance.random() < 1 / 2
    file = world.file if as_written else shuffled(world.file, chance)
    other = World(reordered(world, chance), file)
    same = make_plan(other.placement(), other.snapshot(), rates=RATES)
    assert not as_written or dumps(same) == dumps(made)
    assert [getattr(same, part) for part in PARTS] == [getattr(made, part) for part in PARTS]
    assert refused(same) == refused(made)
    if case.arrives and not asked.limits:  # a stage leaves the rest to the next ones
        after = ended(world, lists_of(made))
        then = after.snapshot()
        assert list(broken(asked, then, made)) == []
        if not made.refusals:
            again = make_plan(asked, then, rates=RATES)
            assert (again.moves, again.creates) == ((), ())


def refused(made: Plan) -> list[Any]:
    return [(refusal.partition, refusal.rule) for refusal in made.refusals]


def names_of(seen: Snapshot) -> list[TopicPartition]:
    return [one.partition for one in seen.states(range(seen.partitions.num_rows))]


def shown_drift(asked: Placement, seen: Snapshot) -> None:
    report = drift_report(asked, seen, rates=RATES)
    assert render_drift(report).endswith("\n")


def explained(asked: Placement, seen: Snapshot, name: TopicPartition) -> None:
    assert str(name) in render_explanation(explain_partition(asked, seen, name, RATES))


def reordered(world: World, chance: Any) -> dict[str, Any]:
    lists = ("brokers", "topics")
    return world.cluster | {
        key: chance.sample(world.cluster[key], len(world.cluster[key])) for key in lists
    }


def lists_of(made: Plan) -> dict[tuple[str, int], tuple[list[int], int | None]]:
    """Where partitions lie when everything is done, and who leads them."""
    found: dict[tuple[str, int], tuple[list[int], int | None]] = {}
    for create in made.creates:
        for number, listed in enumerate(create.lists, start=create.present):
            found[create.topic, number] = [int(b) for b in listed], int(listed[0])
    for move in made.moves:
        leader = move.target[0] if move.elect else move.leader
        leader = leader if leader in move.target else move.target[0]
        topic, number = move.partition
        found[topic, number] = [int(b) for b in move.target], leader
    return found
