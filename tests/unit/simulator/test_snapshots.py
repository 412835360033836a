"""Snapshots become simulations: each value stands where its source says, and comes back the same."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.unit.snapshots.strategies import snapshots

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    TOPICS_SCHEMA,
    UNCLEAN_ELECTION,
    Broker,
    BrokerId,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    Features,
    LogDir,
    Snapshot,
)
from replan.simulator.api import CLUSTER_DEFAULT, from_snapshot, observed_snapshot

ORDERS = (ConfigScope.TOPIC, "orders")


def with_topic(found: Snapshot, **columns: object) -> Snapshot:
    """The snapshot with other settings of its one topic."""
    row = found.topics.to_pylist()[0] | columns
    return replace(found, topics=pa.Table.from_pylist([row], schema=TOPICS_SCHEMA))


@pytest.mark.parametrize(
    ("source", "minimum", "stored", "files"),
    [
        (ConfigSource.TOPIC, 2, {ORDERS: {MIN_INSYNC_REPLICAS: "2"}}, {}),
        (ConfigSource.CLUSTER_DEFAULT, 2, {CLUSTER_DEFAULT: {MIN_INSYNC_REPLICAS: "2"}}, {}),
        (ConfigSource.BROKER_FILE, 2, {}, {"": {MIN_INSYNC_REPLICAS: "2"}}),
        (ConfigSource.KAFKA_DEFAULT, 1, {}, {}),
    ],
)
def test_min_isr_stands_where_its_source_says(
    source: ConfigSource, minimum: int, stored: dict[object, object], files: dict[str, object]
) -> None:
    found = with_topic(
        snapshot([state([1, 2, 3])], features=Features(replication_factor_guard=True)),
        min_insync_replicas=minimum,
        min_insync_source=int(source),
    )
    cluster = from_snapshot(found).cluster
    assert (cluster.configs, cluster.file_configs) == (stored, files)
    assert observed_snapshot(from_snapshot(found), 0) == found


def test_with_elr_the_cluster_has_a_default_of_min_isr() -> None:
    cluster = from_snapshot(snapshot([state([1, 2, 3])])).cluster
    assert cluster.configs[CLUSTER_DEFAULT] == {MIN_INSYNC_REPLICAS: "1"}


def test_overrides_and_rates_come_back_as_they_were() -> None:
    rates = {
        BrokerId(1): {LEADER_RATE: ConfigValue("10", ConfigSource.BROKER)},
        BrokerId(2): {LEADER_RATE: ConfigValue("20", ConfigSource.BROKER_FILE)},
    }
    found = with_topic(
        replace(snapshot([state([1, 2, 3])]), broker_configs=rates),
        unclean_election=True,
        leader_throttled="0:1",
        follower_throttled="",
    )
    simulation = from_snapshot(found)
    own = simulation.cluster.configs[ORDERS]
    assert own[UNCLEAN_ELECTION] == "true"
    assert own[LEADER_REPLICAS] == "0:1"
    assert observed_snapshot(simulation, 0) == found


def test_a_rate_of_the_whole_cluster_is_reported_by_every_broker() -> None:
    rates = {BrokerId(1): {FOLLOWER_RATE: ConfigValue("10", ConfigSource.CLUSTER_DEFAULT)}}
    found = replace(snapshot([state([1, 2, 3])]), broker_configs=rates)
    told = observed_snapshot(from_snapshot(found), 0).broker_configs
    assert told == dict.fromkeys(map(BrokerId, range(1, 6)), rates[BrokerId(1)])


def test_a_cordoned_broker_has_all_its_directories_cordoned() -> None:
    dirs = (LogDir(BrokerId(1), "a", cordoned=True), LogDir(BrokerId(1), "b"))
    some = from_snapshot(snapshot([state([1])], log_dirs=dirs))
    assert not some.cluster.brokers[BrokerId(1)].cordoned
    all_of_it = from_snapshot(
        snapshot([state([1])], registered=[Broker(BrokerId(1), cordoned=True)])
    )
    assert all_of_it.cluster.brokers[BrokerId(1)].cordoned


def test_a_replica_that_is_being_added_has_nothing_yet_and_one_that_fell_out_lacks_the_end() -> (
    None
):
    found = snapshot([state([1, 2, 3, 4], [1, 2], adding=[4], size=100)])
    lags = from_snapshot(found).world.lags
    assert {broker: lag.remaining_bytes for (_, broker), lag in lags.items()} == {3: 0, 4: 100}


@settings(max_examples=settings().max_examples // 5)  # the strategy is slow
@given(snapshots())
def test_whatever_a_controller_can_have_comes_back(found: Snapshot) -> None:
    try:
        simulation = from_snapshot(replace(found, log_dirs=(), broker_configs={}, silent=()))
    except ValueError:
        return
    back = observed_snapshot(simulation, 0)
    fenced = {b.id for b in found.brokers if b.fenced}
    if not any(fenced & set(isr) for isr in found.partitions.column("isr").to_pylist()):
        assert back.partitions == found.partitions
    assert back.brokers == found.brokers
