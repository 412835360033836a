"""Why partitions cannot be placed: constraints that leave no placement together, with the place of each."""

from collections.abc import Collection
from enum import StrEnum

from replan.documents.typed import Form, Int32, Int64, Text
from replan.model.names import TopicPartition
from replan.wording import NAMES_SHOWN, CountedName, WordedName


class ConstraintKind(WordedName):
    """What limits where the replicas of a partition may lie; which fields of `Constraint` it has stands behind it."""

    FENCED = ("fenced", "{brokers} {are} fenced")
    """`brokers`: one that is fenced, and gets nothing new."""
    CORDONED = ("cordoned", "{brokers} {are} cordoned")
    """`brokers`: one all of whose log directories are cordoned."""
    NO_ROOM = (
        "no-room",
        "{brokers} can take {available} at most, of {bytes}, with a tenth kept free",
    )
    """`brokers`: one whose disks take `available` bytes, of `number`."""
    UNCLEAN_ELECTION = (
        "unclean-election",
        "unclean.leader.election.enable is true, with {replicas} in sync and alive",
    )
    """Unclean election is on and `number` live replicas are in sync, so no replica is added."""
    MIN_INSYNC_REPLICAS = ("min-insync-replicas", "min.insync.replicas is {number}")
    """min.insync.replicas of the topic is `number`: no list may be shortened below it, nor a shorter one grow."""
    REQUIRED_RACKS = ("required-racks", "`require` wants {racks}")
    """`require` wants `number` racks."""
    WITHOUT_RACK = ("without-rack", "no rack is known of {brokers}")
    """`brokers`: one whose rack is not known."""
    DRAINED = ("drained", "{brokers} {are} drained")
    """`brokers`: one that shall hold nothing."""
    APART = ("apart", "apart: [{text}], and {brokers} {are} left to the other topics of it")
    """These `brokers` hold, or are for, other topics of the group `text`, which share no broker."""
    BROKERS = ("brokers", "brokers: {named}")
    """The rule names these `brokers`, as far as they are registered."""
    IN_RACK = ("in-rack", "inRack: {text}")
    """The rule names the rack `text`, of which these are the `brokers`."""
    REPLICAS_PER_RACK = ("replicas-per-rack", "replicasPerRack: {text}: {number}")
    """The rule wants `number` replicas in the rack `text`, of which these are the `brokers`; others have one too."""
    MAX_REPLICAS_PER_BROKER = ("max-replicas-per-broker", "maxReplicasPerBroker: {number}")
    """The rule lets a broker hold `number` replicas of the topic, which has `available` partitions; or `balance` lets
    it hold `number` of all topics."""
    PARTITION_COUNT = ("partition-count", "partitionCount: {number}")
    """The rule wants `number` partitions, of which some are to be created."""
    SPREAD = ("spread", "spread: {text}")
    """How the replicas lie over the racks: `text`."""
    REPLICATION_FACTOR = ("replication-factor", "replicationFactor: {number}")
    """`number` replicas; where no key says so, as many as there are."""
    LIST = ("list", "the list {listed}")
    """A list of `number` replicas in which only drained brokers are replaced: declared, or the one that is there."""


class Constraint(Form, frozen=True):
    """One constraint; equal ones of several partitions are one."""

    kind: ConstraintKind
    where: str = ""
    """FILE:LINE:COLUMN; empty where it is a fact of the cluster."""
    brokers: tuple[Int32, ...] = ()
    number: Int64 = 0
    available: Int64 = 0
    text: str = ""
    together: Int64 = 0
    """So many of the constraints of this kind have to go together to end the conflict; 0: this one does by itself."""


class Shortage(CountedName):
    """What is missing under some constraints."""

    BROKERS = ("brokers", "it needs {needed}, and {available} can hold it", "broker")
    """`needed` brokers can hold it, and there are `available`."""
    RACK_BROKERS = (
        "rack-brokers",
        "rack {rack} must hold {needed}, and {available} of its brokers can",
        "replica",
    )
    """`rack` must hold `needed` replicas, and has `available` brokers that can."""
    RACKS_WITH_ONE_MORE = (
        "racks-with-one-more",
        "{needed} must hold one replica more than the others, and {available} can",
        "rack",
    )
    """`needed` racks must hold one replica more than the others, and `available` can."""
    BROKERS_IN_ONE_RACK = (
        "brokers-in-one-rack",
        "it needs a rack with {needed}, and the largest has {available} that can hold it",
        "broker",
    )
    """The largest rack has `available` brokers that can hold it, of `needed`."""
    KNOWN_RACKS = (
        "known-racks",
        "it goes by racks, and {needed} without a rack may hold it",
        "broker",
    )
    """The racks of `needed` brokers are not known."""
    RACKS = ("racks", "it needs {needed}, and its replicas can lie in {available}", "rack")
    """Its replicas can lie in `available` racks, of `needed`."""
    REPLICAS = ("replicas", "its list would be shortened to {available}, below {needed}", "replica")
    """A list would be shortened to `available` replicas, and `needed` are the least."""
    PRESENT_REPLICAS = (
        "present-replicas",
        "it needs {needed}, no other than the present ones may be added, and {available} of them can stay",
        "replica",
    )
    """Only brokers that hold it already may hold it: `available` can, of `needed`."""
    TOPIC_REPLICAS = (
        "topic-replicas",
        "its topic has {needed} to place{of}, and the brokers there may hold {available} together",
        "replica",
    )
    """`needed` replicas of the topic are to lie on brokers, of `rack` where it is named, that may hold `available`."""
    BROKER_REPLICAS = (
        "broker-replicas",
        "a broker would hold {needed}, and may hold {available}",
        "replica",
    )
    """`needed` replicas of all topics would lie on one broker, which may hold `available`."""
    ROOM = ("room", "it needs room for {needed}, and {available} is the most there is", "")
    """`needed` bytes cannot lie where `available` can."""


class Lack(Form, frozen=True):
    """What is missing, with its measure."""

    shortage: Shortage
    needed: Int64
    available: Int64
    rack: str = ""


class Proof(StrEnum):
    """How sure it is that there is no placement."""

    IMPOSSIBLE = "impossible"
    """Proved: nothing keeps these constraints, whatever else is done."""
    NOT_FOUND = "not-found"
    """None was found, by an order of moves that makes room in time or in `steps` of the search; there may be one."""


class Conflict(Form, frozen=True, kw_only=True):
    """Constraints that cannot hold together, and whom they concern.

    Of a proved conflict every constraint is needed: without any one of them these partitions could be placed.
    """

    proof: Proof
    """impossible: proved, and without any one of the constraints there is a placement; not-found: perhaps one is."""
    count: Int32 = 0
    """Partitions."""
    topics: tuple[Text, ...] = ()
    """The first twenty."""
    partitions: tuple[Text, ...] = ()
    """The first twenty of `count`."""
    constraints: tuple[Constraint, ...]
    lacks: tuple[Lack, ...]
    """What is missing while all of them hold."""
    steps: Int64 = 0
    """Of the search, where there was one."""

    def may_concern(self, names: Collection[TopicPartition]) -> bool:
        """Whether any of these is among its partitions, or may be one of those that it does not name."""
        if self.count <= len(self.partitions):
            return any(str(name) in self.partitions for name in names)
        return any(len(self.topics) == NAMES_SHOWN or name.topic in self.topics for name in names)
