"""Real controllers of fake brokers: what the harness makes of their answers. The golden vectors run on them, too."""

import pytest
from tests.kafka.clusters import Controllers, by_night
from tests.kafka.harness.arena import Arena
from tests.kafka.harness.clients import until
from tests.kafka.harness.distribution import VERSIONS
from tests.kafka.harness.fake_brokers import Refused

P = ("orders", 0)


def test_a_restart_needs_a_short_session(fake_brokers: Controllers) -> None:
    with (
        Arena(fake_brokers("4.3.1"), [0]) as trace,
        pytest.raises(Refused, match=r"^register broker \d+000: error 101$"),
    ):
        trace.restart(0, cleanly=True)


@pytest.mark.parametrize(
    "version", [pytest.param(version, marks=by_night(version)) for version in VERSIONS]
)
def test_what_clients_are_reported_agrees_with_the_controllers_log(
    fake_brokers: Controllers, version: str
) -> None:
    with Arena(fake_brokers(version), range(1, 5)) as trace:
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


def test_nobody_can_change_the_isr_of_a_leaderless_partition(fake_brokers: Controllers) -> None:
    with Arena(fake_brokers("4.3.1"), [1]) as trace:
        trace.create_topic("orders", [[1]])
        trace.fence(1)

        with pytest.raises(ValueError, match=r"^orders-0 has no leader"):
            trace.alter_isr(P, [1])
