"""Elections and recoveries as whole applications, through the port: who leads, who is refused, what is lost."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.conformance.lab import (
    RECORD_BYTES,
    Lab,
    answering,
    in_sync,
    leader_is,
    logs_of,
    partition_of,
    reassign,
    stop,
    until_listed,
    until_reads,
)

from replan.applying.api import (
    Journal,
    MemoryJournal,
    Outcome,
    Result,
    Settings,
    apply_plan,
    as_planned_from,
    fold,
    with_logs,
)
from replan.errors import Exit
from replan.model.api import MIN_INSYNC_REPLICAS, BrokerId, ProbedLogs, TopicPartition, Wanted
from replan.placement_file.api import load_placement
from replan.planning.api import (
    Plan,
    RecoveryElections,
    RecoveryMethod,
    RecoveryRequest,
    RefusalRule,
    Selection,
    Tail,
    awaited,
    digest,
    make_plan,
    partitions_to_probe,
    preferred_elections,
    recovery_elections,
)

NOTHING: Mapping[TopicPartition, ProbedLogs] = {}


def planned(
    lab: Lab,
    topic: str,
    method: RecoveryMethod,
    *given_up: int,
    leader: int | None = None,
    earlier_logs: Mapping[TopicPartition, ProbedLogs] = NOTHING,
) -> RecoveryElections:
    """What an election of this topic's partition 0 would do now."""
    name, plane = TopicPartition(topic, 0), lab.control_plane
    asked = RecoveryRequest(
        Selection(partitions=(name,)),
        method,
        () if leader is None else ((name, BrokerId(leader)),),
        frozenset(map(BrokerId, given_up)),
        moves_led=leader is not None,
    )
    seen = plane.observe()
    seen = with_logs(plane, seen, partitions_to_probe(asked.selection, seen), earlier_logs)
    return recovery_elections(asked, seen, None, {}, earlier_logs)


def performed(lab: Lab, plan: Plan, journal: Journal | None = None) -> Outcome:
    """Perform a plan to its end."""
    plane = lab.control_plane
    return apply_plan(
        plan,
        plane,
        plane,
        journal or MemoryJournal(),
        lab.clock,
        plan_digest=digest(plan),
        settings=Settings(),
        report=lambda _: None,
        stop=lambda: False,
    )


def test_the_best_surviving_log_leads_whatever_its_place_in_the_list(lab: Lab) -> None:
    """3, 2 and 1 records; the first of the list is dead, the second has least."""
    topic = lab.create_topic([[1, 3, 2]], {MIN_INSYNC_REPLICAS: "1"})
    name = TopicPartition(topic, 0)
    lab.write(topic, RECORD_BYTES)
    stop(lab, 3)
    lab.write(topic, RECORD_BYTES)
    stop(lab, 2)
    lab.write(topic, RECORD_BYTES)
    earlier_logs = {name: logs_of(lab, topic, 1)}
    stop(lab, 1)
    leader_is(lab, topic, None)
    lab.start_broker(3)
    lab.start_broker(2)
    answering(lab, topic, 2, 3)

    (refused,) = planned(lab, topic, RecoveryMethod.BALANCED).plan.refusals
    assert (refused.rule, refused.facts) == (RefusalRule.BETTER_MAY_RETURN, {"brokers": (1,)})
    (kafkas,) = planned(lab, topic, RecoveryMethod.UNCLEAN, 1).plan.recoveries
    assert kafkas.chosen == 3
    plan = planned(lab, topic, RecoveryMethod.BALANCED, 1, earlier_logs=earlier_logs).plan
    (chosen,) = plan.recoveries
    assert (chosen.order, chosen.clean) == ((2, 1, 3), False)
    assert chosen.loss.tails == (Tail(BrokerId(1), 2, 3),)

    outcome = performed(lab, plan)

    (result,) = outcome.partitions
    assert (outcome.exit_code, result.result, result.lost) == (Exit.OK, Result.DONE, 1)
    leader_is(lab, topic, 2)
    in_sync(lab, topic, 2, 3)
    assert planned(lab, topic, RecoveryMethod.BALANCED).not_needed == (name,)


@pytest.mark.nightly
def test_only_the_broker_that_is_awaited_leads_by_itself_and_cleanly(lab: Lab) -> None:
    """With eligible leader replicas that is the second to last, without them the last one that was in sync."""
    topic = lab.create_topic([[1, 2, 3]])
    name = TopicPartition(topic, 0)
    lab.write(topic, RECORD_BYTES)
    stop(lab, 3, 2, 1)
    leader_is(lab, topic, None)
    state = lab.control_plane.observe().partition(name)
    assert state is not None
    back = awaited(state, unclean_election=False)
    assert back is not None
    assert back.brokers == ((1, 2) if state.elr else (1,))

    for broker in (3, 2, 1):
        lab.start_broker(broker)
        if broker in back.brokers:
            break
        answering(lab, topic, broker)
        (refused,) = planned(lab, topic, RecoveryMethod.BALANCED).plan.refusals
        assert refused.rule is RefusalRule.BETTER_MAY_RETURN

    leader_is(lab, topic, broker)
    found = planned(lab, topic, RecoveryMethod.BALANCED)
    assert (found.not_needed, found.plan.changes) == ((name,), False)
    in_sync(lab, topic, 2, 3, *([] if broker == 2 else [1]))


def test_preferred_elections_with_mixed_results(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3], [2, 3, 1], [5, 2, 3]])
    one, two, five = (TopicPartition(topic, number) for number in range(3))
    reassign(lab, topic, 3, 1, 2)
    until_listed(lab, topic, 3, 1, 2)
    stop(lab, 5)

    found = preferred_elections(Selection(topics=(topic,)), lab.control_plane.observe(), None, {})

    assert found.not_needed == (two,)
    assert [(r.partition, r.rule) for r in found.plan.refusals] == [
        (five, RefusalRule.PREFERRED_UNAVAILABLE)
    ]
    outcome = performed(lab, found.plan)
    assert outcome.exit_code is Exit.REFUSED
    assert [(r.partition, r.result) for r in outcome.partitions if r.partition == one] == [
        (one, Result.DONE)
    ]
    leader_is(lab, topic, 3)


def test_a_replica_that_is_named_leads_a_partition_that_is_led(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    outcome = performed(lab, planned(lab, topic, RecoveryMethod.DESIGNATED, leader=3).plan)

    assert outcome.exit_code is Exit.OK
    leader_is(lab, topic, 3)
    assert partition_of(lab, topic).replicas == (3, 1, 2)
    assert partition_of(lab, topic).leader_epoch == 1


def test_a_broker_on_the_leader_blacklist_leads_nothing_until_it_is_taken_off(
    lab: Lab, tmp_path: Path
) -> None:
    """Not after a restart either; then the order comes back that the journal has kept."""
    lists = [[1, 2, 3], [2, 1, 3], [3, 1, 2]]
    topic, journal = lab.create_topic(lists), MemoryJournal()
    path = tmp_path / "placement.yaml"
    names = [TopicPartition(topic, number) for number in range(3)]

    def shown() -> list[tuple[list[int], int | None]]:
        found = lab.control_plane.look(Wanted(partitions=names)).partitions
        return [(list(found[name].replicas), found[name].leader) for name in names]

    def applied(entries: str) -> None:
        path.write_text(f"version: 1\nassignments: {{}}\nblacklists: {{leaders: [{entries}]}}\n")
        seen = as_planned_from(lab.control_plane.observe(), fold(journal.read()))
        plan = make_plan(load_placement([path]), seen, only=[topic])
        assert performed(lab, plan, journal).exit_code is Exit.OK

    applied(f"{{broker: 1, topics: [{topic}]}}")

    without_one = [([2, 3, 1], 2), ([2, 3, 1], 2), ([3, 2, 1], 3)]
    until_reads(lab, shown, without_one)
    stop(lab, 1)
    lab.start_broker(1)
    in_sync(lab, topic, 1, 2, 3)
    assert shown() == without_one

    applied("")

    until_reads(lab, shown, [(listed, listed[0]) for listed in lists])
