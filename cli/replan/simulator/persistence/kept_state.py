"""The form of the part `simulation` of a cluster file: everything that is not in a snapshot but the next process needs.

Here belong the types of that part, one for each kind of object in it. How a simulation is written as them is in
`write_state`, what wins when a person has edited the snapshot beside them in `read_state`.
"""

from dataclasses import fields
from typing import Annotated, Any

from msgspec import Meta, defstruct

from replan.documents.forms import Form, Int32, Text
from replan.documents.nodes import INT32_MAX, INT64_MAX
from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.physical_state import Speeds

Amount = Annotated[float, Meta(ge=0, le=INT64_MAX)]
"""Bytes, or bytes per second."""
Positive = Annotated[float, Meta(gt=0, le=INT64_MAX)]
Seconds = Annotated[float, Meta(ge=0, le=1e10)]
"""Virtual seconds, at most some three hundred years."""
NEVER_ZERO = frozenset(
    {
        "rebalance_seconds",
        "unclean_seconds",
        "shutdown_seconds",
        "grain_seconds",
        "batch_bytes",
        "record_bytes",
    }
)


class KeptBroker(Form, frozen=True, kw_only=True):
    """One broker; its times are not used where a person has changed `fenced` in the snapshot."""

    id: Int32
    epoch: Int32 | None = None
    fenced: bool = False
    shutting_down: bool = False
    down_since: Seconds | None = None
    serves_at: Seconds | None = None
    next_beat: Seconds | None = None
    returns_as: Annotated[int, Meta(ge=-1, le=INT32_MAX)] | None = None
    disk_lost: bool = False
    new_disk: bool = False


class KeptLag(Form, frozen=True):
    """What a replica that is not caught up lacks, when it starts to fetch, and since when if it is in the ISR."""

    broker: Int32
    bytes: Amount
    fetches_from: Seconds
    behind_since: Seconds | None = None


class KeptEpoch(Form, frozen=True):
    """From which byte of a log on an epoch wrote it."""

    epoch: Int32
    bytes: Amount


class KeptLog(Form, frozen=True):
    """The log of a replica that is no beginning of the leader's."""

    broker: Int32
    bytes: Amount
    epochs: tuple[KeptEpoch, ...]


class KeptPlace(Form, frozen=True):
    """The log directory of a replica."""

    broker: Int32
    path: Text


class KeptFuture(Form, frozen=True):
    """A log on its way to another directory of its broker."""

    broker: Int32
    path: Text
    remaining_bytes: Amount
    bytes: Amount


class KeptPartition(Form, frozen=True, kw_only=True):
    """What is not usual of one partition."""

    topic: Text
    partition: Int32
    epoch: Int32 = 0
    recovering: bool = False
    bytes_per_second: Amount = 0.0
    lags: tuple[KeptLag, ...] = ()
    epochs: tuple[KeptEpoch, ...] = ()
    parted: tuple[KeptLog, ...] = ()
    placed: tuple[KeptPlace, ...] = ()
    lay: tuple[KeptPlace, ...] = ()
    preferred: tuple[KeptPlace, ...] = ()
    futures: tuple[KeptFuture, ...] = ()

    @property
    def name(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


class KeptConfigs(Form, frozen=True):
    """Dynamic values of one resource that no snapshot has."""

    scope: ConfigScope
    name: str
    values: dict[str, str]


class KeptFile(Form, frozen=True):
    """The values of one broker's server.properties; of all brokers' under the name ""."""

    name: str
    values: dict[str, str]


class KeptBurst(Form, frozen=True):
    """What a throttled leader may still send ahead of its even rate."""

    broker: Int32
    bytes: Amount
    used_at: Seconds | None = None


class KeptDeletion(Form, frozen=True):
    """Bytes of a dropped replica that are still on the disk until `due`."""

    broker: Int32
    path: Text
    bytes: Amount
    due: Seconds


def _speed(name: str) -> Any:  # a type, made for msgspec
    kind = Positive if name in NEVER_ZERO else Amount
    return kind | None if name == "rebalance_seconds" else kind


KeptSpeeds = defstruct(
    "KeptSpeeds",
    [(f.name, _speed(f.name), f.default) for f in fields(Speeds)],
    bases=(Form,),
    frozen=True,
)


class KeptSimulation(Form, frozen=True, kw_only=True):
    """The part `simulation`; all of it may be missing."""

    kafka_version: str | None = None
    seconds: Seconds = 0.0
    speeds: KeptSpeeds = KeptSpeeds()  # type: ignore[valid-type]  # made from the fields of Speeds
    next_rebalance: Seconds | None = None
    next_unclean_election: Seconds | None = None
    next_broker_epoch: Int32 = 0
    brokers: tuple[KeptBroker, ...] = ()
    partitions: tuple[KeptPartition, ...] = ()
    configs: tuple[KeptConfigs, ...] = ()
    files: tuple[KeptFile, ...] = ()
    bursts: tuple[KeptBurst, ...] = ()
    deletions: tuple[KeptDeletion, ...] = ()


def places(
    partition: KeptPartition, found: tuple[KeptPlace, ...]
) -> dict[tuple[TopicPartition, BrokerId], str]:
    """The log directories of replicas."""
    return {(partition.name, BrokerId(place.broker)): place.path for place in found}
