"""The configurations of a snapshot as dynamic values and file values, each where its source says it comes from."""

from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    ConfigScope,
    ConfigSource,
    TopicSettings,
)
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.simulator.controller.state import CLUSTER_DEFAULT, Resource

Stored = dict[Resource, dict[str, str]]
Files = dict[str, dict[str, str]]


def stored_configs(snapshot: Snapshot) -> tuple[Stored, Files]:
    """Dynamic values by resource, and values of files; raises ValueError where no cluster can have them.

    With ELR on the cluster has a default of min.insync.replicas, whatever the files say.
    """
    stored: Stored = {}
    files: Files = {}
    for name in snapshot.topics.column("name").to_pylist():
        settings = snapshot.settings(name)
        if settings is not None:
            _store_topic(stored, files, name, settings)
    for broker, configs in snapshot.broker_configs.items():
        for key, value in configs.items():
            _store_broker(stored, files, broker, key, value.value, value.source)
    if snapshot.features.eligible_leader_replicas:
        stored.setdefault(CLUSTER_DEFAULT, {}).setdefault(MIN_INSYNC_REPLICAS, "1")
    return stored, files


def _store_topic(stored: Stored, files: Files, topic: str, settings: TopicSettings) -> None:
    own = stored.setdefault((ConfigScope.TOPIC, topic), {})
    minimum = str(settings.min_insync_replicas)
    match settings.min_insync_source:
        case ConfigSource.CLUSTER_DEFAULT:
            _agree(stored.setdefault(CLUSTER_DEFAULT, {}), topic, minimum)
        case ConfigSource.BROKER_FILE | ConfigSource.BROKER:
            _agree(files.setdefault("", {}), topic, minimum)
        case ConfigSource.KAFKA_DEFAULT if minimum == "1":
            pass
        case _:
            own[MIN_INSYNC_REPLICAS] = minimum
    if settings.unclean_election:
        own[UNCLEAN_ELECTION] = "true"
    if settings.leader_throttled is not None:
        own[LEADER_REPLICAS] = settings.leader_throttled
    if settings.follower_throttled is not None:
        own[FOLLOWER_REPLICAS] = settings.follower_throttled
    if not own:
        del stored[ConfigScope.TOPIC, topic]


def _agree(values: dict[str, str], topic: str, minimum: str) -> None:
    """A default is one value for all topics."""
    known = values.setdefault(MIN_INSYNC_REPLICAS, minimum)
    if known != minimum:
        raise ValueError(
            f"{topic}: min.insync.replicas is {minimum} by a default that is {known} for another topic; "
            "give one of them the source `topic`"
        )


def _store_broker(
    stored: Stored, files: Files, broker: BrokerId, key: str, value: str, source: ConfigSource
) -> None:
    match source:
        case ConfigSource.CLUSTER_DEFAULT:
            stored.setdefault(CLUSTER_DEFAULT, {})[key] = value
        case ConfigSource.BROKER_FILE:
            files.setdefault(str(broker), {})[key] = value
        case _:
            stored.setdefault((ConfigScope.BROKER, str(broker)), {})[key] = value
