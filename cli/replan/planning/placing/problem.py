"""What the chooser is asked, and what it answers: columns of partitions, a table of brokers, few rules, reasons.

Broker ids are those of Kafka in every column here; a padded place is -1 (`model.columns.PAD`). A broker that a list
names and the table does not have is unregistered: it is kept by no rule.
"""

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

import numpy as np
from msgspec import Struct, field

from replan.model.columns import Flags, Ints, Matrix
from replan.model.declared.rules import BalanceMeasure, Tolerance

NO_RACK = -1
NO_LIMIT = np.iinfo(np.int64).max


class Layout(StrEnum):
    """How the replicas of one partition lie over the racks."""

    RACK = "rack"
    """Each rack of the candidates holds the floor or the ceiling of replicas / racks."""
    NONE = "none"
    """Anywhere."""
    IN_RACK = "in-rack"
    """All in one rack: the one with most of its replicas, then its leader's, then by name."""
    PER_RACK = "per-rack"
    """Each rack holds the number that the rule gives it, and the others nothing."""
    LISTED = "listed"
    """A list is given, and only drained brokers in it are replaced, each at its place."""


class Rule(Struct, frozen=True):
    """What holds of the partitions that name it; equal rules are one."""

    layout: Layout
    candidates: Flags
    """Shape (brokers,): who may hold these partitions. Drained brokers are never among them."""
    per_rack: tuple[int, ...] = ()
    """PER_RACK: the replicas of each rack of the table; their sum is the factor."""
    most: int | None = None
    """Of each topic with this rule: the most replicas that a broker may hold."""


class BrokerTable(Struct, frozen=True):
    """Registered brokers, ascending by id; shape of every column: (brokers,)."""

    ids: Ints
    rack: Ints
    """Position in `racks`; NO_RACK where it is not known."""
    racks: tuple[str, ...]
    """Sorted."""
    open: Flags
    """May get new replicas: not fenced, not cordoned, not drained."""
    fenced: Flags
    weight: Ints
    """Capacity in whole parts, at least 1: a broker of weight 2 takes twice as much as one of weight 1."""
    replicas: Ints
    """Replicas that it holds of partitions that are not in the problem."""
    bytes: Ints
    """Bytes of those replicas."""
    room: Ints
    """Bytes that it may hold of the problem's partitions, never less than it holds; NO_LIMIT where not known."""
    below: Ints | None = None
    """The same until it is as full as the policy empties directories (`logDirFull`); None: it empties none."""


class PartitionTable(Struct, frozen=True):
    """Partitions, ascending by topic and number; the first dimension of every column."""

    rule: Ints
    """Position in `PlacementProblem.rules`."""
    factor: Ints
    """Wanted number of replicas."""
    base: Matrix
    """LISTED: the list that is declared, `factor` long. Otherwise as `current`. Shape (partitions, width)."""
    current: Matrix
    """The replicas that it has, without those that a running reassignment removes; none before it is created."""
    leader: Ints
    """Who leads, -1 where nobody does."""
    bytes: Ints
    """What one new replica copies."""
    topic: Ints
    """A number of its topic."""

    def __len__(self) -> int:
        return len(self.rule)


class Elsewhere(Struct, frozen=True):
    """Partitions that are not in the problem: their topics are spread with them."""

    lists: Matrix
    topic: Ints


class Leading(Struct, frozen=True):
    """What a balance of leaders asks of each partition; the first dimension of every column."""

    first: Ints
    """Who comes first in its list in the cluster, as a broker id; -1: nobody."""
    declared: Flags
    """Whether its order is declared: it is left as it is, and not counted."""
    listed: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Of each topic, by its number, the brokers that shall not lead it."""


class PlacementProblem(Struct, frozen=True):
    """All that the chooser knows."""

    brokers: BrokerTable
    partitions: PartitionTable
    rules: tuple[Rule, ...]
    elsewhere: Elsewhere
    drained: frozenset[int] = frozenset()
    """Brokers that shall hold nothing, registered or not; those in the table are no candidates of any rule."""
    balance: tuple[Tolerance, ...] = ()
    """The first counts most."""
    rates: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """What producers write to each partition, bytes per second; needed where the balance goes by it."""
    leading: Leading | None = None
    """Needed where leaders are balanced."""
    staying: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Rows that keep what they have, whatever is chosen for them: the others are balanced around them."""
    led: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Rows whose leader is declared by its id."""
    drained_dirs: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By row: the brokers, as ids, whose replica lies in a log directory that is to be empty."""
    budget: int = 50_000
    """Steps of the search over bytes, which is bin packing; further looks for one count as steps."""

    @property
    def listed(self) -> Flags:
        """Which partitions keep a declared list; shape (partitions,)."""
        of_rule = [*(rule.layout is Layout.LISTED for rule in self.rules), False]
        return np.array(of_rule)[self.partitions.rule]


class Obstacle(StrEnum):
    """Why there is no placement. Each is the refusal of its name, but the last two, which concern no partition."""

    TOO_FEW_BROKERS = "too-few-brokers"
    """There are fewer candidates (`available`) than replicas (`needed`)."""
    WITHOUT_RACK = "without-rack"
    """Candidates whose rack is not known (`brokers`)."""
    RACK_LACKS_BROKERS = "rack-lacks-brokers"
    """`rack` must hold `needed` replicas, and has `available` brokers that can."""
    RACKS_LACK_BROKERS = "racks-lack-brokers"
    """`needed` racks must hold one replica more than the others, and `available` can."""
    NO_RACK_IS_LARGE_ENOUGH = "no-rack-is-large-enough"
    """in-rack: the largest rack has `available` candidates that can, of `needed`."""
    NO_SUBSTITUTE = "no-substitute"
    """Nobody can take the place of a drained broker (`brokers`)."""
    TOPIC_CROWDS_BROKERS = "topic-crowds-brokers"
    """`brokers` may hold `available` replicas of the topic together, and it has `needed` that can lie nowhere else."""
    ROOM_IMPOSSIBLE = "room-impossible"
    """Proved: the disks of the candidates cannot hold all of it (`needed` of `available`); the rest is placed."""
    ROOM_NOT_FOUND = "room-not-found"
    """The search for room on disks ended after `needed` steps; there may be a placement that has it."""


class Imbalance(Struct, frozen=True):
    """The balance is not as near as is asked for, and the moves that were found bring it no nearer."""

    measure: BalanceMeasure
    within: Fraction
    reached: Fraction
    """The tolerance that would do."""
    brokers: tuple[int, ...]
    """Those that are further from their share than is asked for."""
    steps: int | None
    """Of the search, which proves nothing; None: proved."""
    full: tuple[int, ...] = ()
    """Those that have no more room, or none before the policy empties them, though their share would allow more."""


class Impossible(Struct, frozen=True):
    """One reason, for all partitions that it holds of."""

    obstacle: Obstacle
    partitions: tuple[int, ...] = ()
    """Rows of the problem's partitions; empty where it concerns the disks together."""
    rack: str | None = None
    brokers: tuple[int, ...] = ()
    needed: int = 0
    available: int = 0


class Choice(Struct, frozen=True):
    """The answer: a list for each partition, and the reasons for which some have none."""

    lists: Matrix
    """Shape (partitions, width). A partition that is in a reason keeps what it has."""
    in_place: Flags
    """Which partitions kept their rule already: such a one changes for the balance alone."""
    impossible: tuple[Impossible, ...] = ()
    imbalances: tuple[Imbalance, ...] = ()
