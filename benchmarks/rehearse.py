"""A plan of many moves on 60 brokers, to rehearse: each brings one replica to another broker.

Five copies at once on each broker, 50 MB/s; sizes are within three fifths of the average.
"""

from benchmarks.simulate_week import BROKERS, spread
from msgspec.structs import replace
from tests.builders import brokers, placement, snapshot, state

from replan.model.api import MoveThrottle, Snapshot, TopicId
from replan.planning.api import Plan, make_plan
from replan.snapshots.api import derived_topic_id

BYTES_PER_SECOND = 50_000_000


def planned(moves: int, gigabytes: float) -> tuple[Plan, Snapshot]:
    """The plan, and the cluster that it is for."""
    lists = list(spread(moves))
    seen = snapshot(
        [
            state(
                before,
                topic=name.topic,
                topic_id=TopicId(derived_topic_id(name.topic)),
                partition=name.partition,
                size=int((20 + i * 7919 % 60) / 50 * gigabytes * 1e9),
            )
            for i, (name, before, _) in enumerate(lists)
        ],
        registered=brokers(BROKERS, "abc"),
    )
    wanted: dict[str, dict[int, tuple[int, ...]]] = {}
    for name, _, after in lists:
        wanted.setdefault(name.topic, {})[name.partition] = after
    return make_plan(
        replace(placement(wanted), move_throttle=MoveThrottle(BYTES_PER_SECOND)), seen
    ), seen
