"""Controllers of fake brokers: states made at will, and Kafka's rules met on each version.

The vectors are numbered as in the conformance table of the simulator; here a few of them prove
that the harness can tell the versions apart.
"""

import pytest
from msgspec.structs import replace
from tests.kafka.clusters import Controllers, by_night
from tests.kafka.harness.arena import Answer, Arena, ConfigOperation, Election
from tests.kafka.harness.clients import until
from tests.kafka.harness.distribution import VERSIONS
from tests.kafka.harness.fake_brokers import FakeBrokers, Refused
from tests.kafka.harness.metadata_log import PartitionState

EACH = [pytest.param(version, marks=by_night(version)) for version in VERSIONS]
WITH_ELR = SINCE_4_3 = EACH[1:]
P = ("orders", 0)


def settled(replicas: tuple[int, ...], leader: int) -> PartitionState:
    """A partition at its start, with everything in sync."""
    return PartitionState(
        replicas=replicas,
        isr=replicas,
        adding=(),
        removing=(),
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        recovering=False,
        elr=(),
        last_known_elr=(),
    )


def state(trace: Arena, name: tuple[str, int]) -> PartitionState:
    """A partition as the controller has it, without where its replicas lie."""
    return replace(trace.state(name), directories=())


def arena(controller: FakeBrokers, *brokers: int) -> Arena:
    return Arena(controller, dict.fromkeys(brokers, "a"))


@pytest.mark.parametrize("version", EACH)
def test_vector_1_a_cancel_sorts_the_list_and_raises_the_leader_epoch(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), *range(1, 7)) as trace:
        trace.create_topic("orders", [[3, 1, 2]])
        before = state(trace, P)
        assert before == settled((3, 1, 2), leader=3)

        assert trace.reassign({P: [4, 5, 6]}) == {P: Answer(0)}
        running = replace(
            before,
            replicas=(4, 5, 6, 1, 2, 3),
            adding=(4, 5, 6),
            removing=(1, 2, 3),
            partition_epoch=1,
        )
        assert state(trace, P) == running
        assert trace.running("orders") == {0: ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))}

        assert trace.reassign({P: None}) == {P: Answer(0)}
        assert state(trace, P) == replace(
            before, replicas=(1, 2, 3), leader_epoch=1, partition_epoch=2
        )
        assert trace.running("orders") == {}


def test_vector_10_up_to_4_2_an_overwrite_with_the_original_undoes_a_move(
    fake_brokers: Controllers,
) -> None:
    with arena(fake_brokers("3.9.2"), *range(1, 7)) as trace:
        trace.create_topic("orders", [[1, 2, 3]])

        trace.reassign({P: [4, 5, 6]})
        trace.reassign({P: [1, 2, 3]})

        assert state(trace, P) == replace(
            settled((1, 2, 3), leader=1), leader_epoch=1, partition_epoch=2
        )


@pytest.mark.parametrize("version", SINCE_4_3)
def test_vector_10_from_4_3_on_an_overwrite_with_the_original_hangs(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), *range(1, 7)) as trace:
        trace.create_topic("orders", [[1, 2, 3]])

        trace.reassign({P: [4, 5, 6]})
        trace.reassign({P: [1, 2, 3]})
        assert state(trace, P) == replace(
            settled((1, 2, 3), leader=1),
            replicas=(1, 2, 3, 4, 5, 6),
            adding=(4, 5, 6),
            removing=(4, 5, 6),
            partition_epoch=2,
        )

        assert trace.alter_isr(P, [1, 2, 3, 4, 5, 6]) == Answer(0)
        assert state(trace, P).removing == (4, 5, 6)
        assert trace.reassign({P: None}) == {P: Answer(0)}
        assert state(trace, P).replicas == (1, 2, 3)
        assert sorted(state(trace, P).isr) == [1, 2, 3]
        assert state(trace, P).leader == 1


@pytest.mark.parametrize("version", WITH_ELR)
def test_vector_33_the_elr_holds_who_may_lead_when_all_are_gone(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), 0, 1, 2) as trace:
        trace.create_topic("orders", [[0, 1, 2]], {"min.insync.replicas": "2"})

        seen = []
        for broker in (2, 1, 0):
            trace.fence(broker)
            now = state(trace, P)
            seen.append((now.isr, now.leader, set(now.elr), now.last_known_elr))
        assert seen == [  # PartitionChangeBuilder keeps the ELR in a HashSet: it has no order
            ((0, 1), 0, set(), ()),
            ((0,), 0, {1}, ()),
            ((), -1, {0, 1}, (0,)),
        ]
        assert trace.elect(Election.PREFERRED, P)[P].code == 80
        assert trace.elect(Election.UNCLEAN, P)[P].code == 83

        trace.unfence(1)
        now = state(trace, P)
        assert (now.isr, now.leader, now.elr, now.last_known_elr) == ((1,), 1, (0,), ())


def test_vector_33_on_3_9_there_is_no_elr(fake_brokers: Controllers) -> None:
    with arena(fake_brokers("3.9.2"), 0, 1, 2) as trace:
        trace.create_topic("orders", [[0, 1, 2]], {"min.insync.replicas": "2"})

        trace.fence(2, 1, 0)

        now = state(trace, P)
        assert (now.isr, now.leader, now.elr, now.last_known_elr) == ((0,), -1, (), ())


@pytest.mark.parametrize("version", WITH_ELR)
def test_elr_can_be_left_off(fake_brokers: Controllers, version: str) -> None:
    with arena(fake_brokers(version, eligible_leader_replicas=False), 0, 1) as trace:
        trace.create_topic("orders", [[0, 1]], {"min.insync.replicas": "2"})

        trace.fence(1)

        assert (state(trace, P).isr, state(trace, P).elr) == ((0,), ())


@pytest.mark.parametrize("version", WITH_ELR)
def test_vector_38_writing_min_insync_replicas_clears_the_elr(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), 0, 1, 2) as trace:
        trace.create_topic("orders", [[0, 1, 2]], {"min.insync.replicas": "3"})
        trace.fence(0)
        assert (state(trace, P).leader, state(trace, P).elr) == (1, (0,))

        written = trace.configure("orders", "min.insync.replicas", "1", ConfigOperation.SET)

        assert written == Answer(0)
        assert state(trace, P).elr == ()
        assert trace.elect(Election.PREFERRED, P)[P].code == 80
        # Accepted only with the exact partition epoch: the log was read as the controller does.
        assert trace.alter_isr(P, [1]) == Answer(0)


@pytest.mark.parametrize("version", WITH_ELR)
@pytest.mark.parametrize(("cleanly", "elr"), [(True, (1,)), (False, ())])
def test_vector_51_a_restart_keeps_its_place_in_the_elr_only_when_clean(
    fake_brokers: Controllers, version: str, cleanly: bool, elr: tuple[int, ...]
) -> None:
    with arena(fake_brokers(version, restarts=True), 0, 1, 2) as trace:
        trace.create_topic("orders", [[0, 1, 2]], {"min.insync.replicas": "2"})
        trace.fence(2, 1)
        assert state(trace, P).elr == (1,)

        trace.restart(1, cleanly=cleanly)

        assert (state(trace, P).isr, state(trace, P).elr) == ((0,), elr)


def test_a_restart_needs_a_short_session(fake_brokers: Controllers) -> None:
    with (
        arena(fake_brokers("4.3.1"), 0) as trace,
        pytest.raises(Refused, match=r"^register broker \d+000: error 101$"),
    ):
        trace.restart(0, cleanly=True)


@pytest.mark.parametrize(("version", "code"), [("4.3.1", 0), ("4.4.0", 39)])
def test_from_4_4_on_a_cordoned_broker_cannot_be_in_a_target(
    fake_brokers: Controllers, version: str, code: int
) -> None:
    with arena(fake_brokers(version), 1, 2, 3, 4) as trace:
        trace.create_topic("orders", [[1, 2, 4]])

        trace.cordon(4)

        assert trace.reassign({P: [2, 1, 4]})[P].code == code


@pytest.mark.parametrize("version", EACH)
def test_a_completing_isr_change_takes_the_leadership_away(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), *range(1, 6)) as trace:
        trace.create_topic("orders", [[1, 2, 3]])
        trace.reassign({P: [5, 4, 2]})

        assert trace.alter_isr(P, [1, 2, 3, 4, 5]).code == 108

        now = state(trace, P)
        assert (now.replicas, sorted(now.isr), now.leader) == ((5, 4, 2), [2, 4, 5], 5)


@pytest.mark.parametrize("version", EACH)
def test_controlled_shutdowns_hand_the_leadership_on_until_nobody_is_left(
    fake_brokers: Controllers, version: str
) -> None:
    controller = fake_brokers(version, eligible_leader_replicas=False)
    with arena(controller, 0, 1, 2) as trace:
        trace.create_topic("orders", [[0, 1, 2]])

        seen = []
        for broker in (0, 1, 2):
            trace.shut_down(broker)
            seen.append((state(trace, P).isr, state(trace, P).leader))

        assert seen == [((1, 2), 1), ((2,), 2), ((2,), -1)]

        trace.unfence(0, 1, 2)
        trace.shut_down(0)
        assert (state(trace, P).isr, state(trace, P).leader) == ((2,), 2)


@pytest.mark.parametrize("version", EACH)
def test_an_unregistered_broker_leaves_the_isr_but_not_the_list(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), 0, 1, 2) as trace:
        trace.create_topic("orders", [[0, 1, 2]])

        trace.unregister(2)

        assert (state(trace, P).replicas, state(trace, P).isr) == ((0, 1, 2), (0, 1))
        assert trace.reassign({P: [1, 0, 2]})[P].code == 39


@pytest.mark.parametrize("version", EACH)
def test_what_clients_are_reported_agrees_with_the_controllers_log(
    fake_brokers: Controllers, version: str
) -> None:
    with arena(fake_brokers(version), *range(1, 5)) as trace:
        trace.create_topic("orders", [[1, 2, 3], [2, 3, 4]])
        trace.fence(2)
        trace.reassign({P: [4, 1, 3], ("orders", 1): [3, 1, 4]})

        def told() -> dict[int, tuple[int, int, list[int], list[int]]]:
            return {
                row["PartitionIndex"]: (
                    row["LeaderId"],
                    row["LeaderEpoch"],
                    row["ReplicaNodes"],
                    row["IsrNodes"],
                )
                for row in trace.described("orders")
            }

        held = {
            index: (
                trace.real_id(state.leader),
                state.leader_epoch,
                [trace.real_id(each) for each in state.replicas],
                [trace.real_id(each) for each in state.isr],
            )
            for index, state in trace.states("orders").items()
        }
        until(lambda: told() == held, f"clients see {held}", limit_seconds=10)


def test_one_request_may_name_a_partition_twice(fake_brokers: Controllers) -> None:
    with arena(fake_brokers("4.3.1"), *range(1, 6)) as trace:
        trace.create_topic("orders", [[1, 2, 3]])

        answers = trace.reassign_in_order([(P, [4, 2, 3]), (P, [5, 2, 3])])

        assert answers == [(P, Answer(0)), (P, Answer(0))]
        now = state(trace, P)
        assert (now.replicas, now.adding, now.removing) == ((5, 2, 3, 1), (5,), (1,))
        assert now.partition_epoch == 2


def test_nobody_can_change_the_isr_of_a_leaderless_partition(fake_brokers: Controllers) -> None:
    with arena(fake_brokers("4.3.1"), 1) as trace:
        trace.create_topic("orders", [[1]])
        trace.fence(1)

        with pytest.raises(ValueError, match=r"^orders-0 has no leader"):
            trace.alter_isr(P, [1])


def test_a_refused_topic_carries_kafkas_code_and_words(fake_brokers: Controllers) -> None:
    with arena(fake_brokers("4.3.1"), 1) as trace:
        with pytest.raises(Refused, match=r"^create orders: error 39, .*broker") as refused:
            trace.create_topic("orders", [[1, 7]])
        assert refused.value.code == 39


def test_traces_on_one_controller_do_not_see_each_other(fake_brokers: Controllers) -> None:
    controller = fake_brokers("4.3.1")
    with arena(controller, 1, 2) as one, arena(controller, 1, 2) as other:
        one.create_topic("orders", [[1, 2]])
        other.create_topic("orders", [[2, 1]])

        one.fence(1)

        assert state(one, P).isr == (2,)
        assert state(other, P) == settled((2, 1), leader=2)
