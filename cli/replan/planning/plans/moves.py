"""A move: one partition from its original list to its target, and what the way there consists of.

Letters used in this package, as in docs/life-of-a-move.md: O original, T target, N = T∖O new, X = O∖T leaving,
E the list that expand asks for.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from replan.documents.typed import Form, Text, ValidBrokerId
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.partition import PartitionState, effective_min_isr
from replan.planning.change import Change
from replan.wording import WordedName


class ReasonKind(WordedName):
    """What asks for a move, and which fields say more."""

    DECLARED = ("declared", "declared replicas")
    """An explicit list has other replicas."""
    DRAIN = ("drain", "broker {broker} is drained{note}")
    """`broker` is to hold nothing; `note`: why."""
    RULE = ("rule", "rule {rule}{key}")
    """The entry of `assignments` that is called `rule`, by its `key`."""
    BALANCE = ("balance", "balance")
    """The list keeps its rule, and moves for the balance of all."""
    ORDER = ("order", "declared order{by_rule}")
    """An explicit list has another order, or the racks of the entry of `preferredLeaders` that is called `rule`."""
    LEADER = ("leader", "leader is {leader}, first of the list is {broker}")
    """`leader` leads, and not `broker`, the first of the list."""
    PREFERRED_LEADER = ("preferred-leader", "preferred leader {broker}{by_rule}")
    """`broker` is the preferred leader: by id, or by the entry of `preferredLeaders` that is called `rule`."""
    LEADER_BLACKLIST = ("leader-blacklist", "broker {broker} is on the leader blacklist{note}")
    """`broker` is to lead nothing; `note`: why."""
    LAST_LEADER = ("last-leader", "broker {broker} stands last (lastLeaders)")
    """`broker` is to stand last, by `lastLeaders`."""
    REMEMBERED_ORDER = ("remembered-order", "the order from before a recovery")
    """The order from before a recovery changed it."""
    BLACKLIST_LIFTED = ("blacklist-lifted", "broker {broker} is no longer on the leader blacklist")
    """The order from before the leader blacklist changed it, on which `broker` is no longer."""
    GIVEN_UP = ("given-up", "the list from before a move that was given up")
    """The list from before a move that was given up after it had begun to add replicas."""
    BACK = ("back", "back to before application {application}")
    """Where it was before application `note` touched it."""


class MoveReason(Form, frozen=True):
    """One reason; fields that its kind does not name are None."""

    kind: ReasonKind
    """What asks for the move."""
    broker: ValidBrokerId | None = None
    """What it is about: drained, preferred, on the leader blacklist or no longer, or the first of the list."""
    leader: ValidBrokerId | None = None
    """Who leads instead of the first of the list."""
    rule: Text | None = None
    """The entry of `assignments` or `preferredLeaders`: a name or a pattern."""
    key: Text | None = None
    """The key of that entry that the list does not keep, where it is one of the list alone: `replicationFactor`."""
    note: Text | None = None
    """Why, as the entry says."""
    owner: Text | None = None
    """Whom to ask about the entry of a blacklist."""
    review_by: Text | None = None
    """When such an entry is to be looked at again, RFC 3339."""
    order: "MoveReason | None" = None
    """Why the list gets its order, where its replicas change and something else asks for the order."""

    def __str__(self) -> str:
        """A clause without an end: `rule clicks; broker 2 is on the leader blacklist: disk`."""
        text = self.kind.words.format(
            broker=self.broker,
            leader=self.leader,
            rule=self.rule,
            key=f": {self.key}" if self.key else "",
            note=self._note(),
            application=self.note,
            by_rule=f" by rule {self.rule}" if self.rule else "",
        )
        return text if self.order is None else f"{text}; {self.order}"

    def _note(self) -> str:
        """What the entry of a blacklist says: `: disk at 92 % [storage, review by 2026-12-01]`."""
        review = f"review by {self.review_by}" if self.review_by else None
        of = ", ".join(filter(None, (self.owner, review)))
        return (f": {self.note}" if self.note else "") + (f" [{of}]" if of else "")


class StandaloneElection(StrEnum):
    """An election that was asked for by itself, beside any placement (KIP-183, KIP-460)."""

    PREFERRED = "preferred"
    """The first of the list shall lead, if it can now: such a move waits for no replica."""


def source_of(leader: BrokerId | None, original: Sequence[BrokerId]) -> BrokerId:
    """Who sends the copies of a partition: the leader; the first of its list where it has no leader."""
    return original[0] if leader is None else leader


class Move(Struct, Change, frozen=True, dict=True):
    """One partition from `original` to `target`, with the state that it was planned from."""

    partition: TopicPartition
    topic_id: TopicId
    original: Replicas
    target: Replicas
    min_insync_replicas: int
    """The topic's configured value when planned: a precondition, and the floor for the target."""
    unclean_election: bool
    """unclean.leader.election.enable when planned: a precondition."""
    reason: MoveReason
    bytes: int = 0
    """Size of the partition when planned; each new replica copies so much."""
    elect: bool = True
    """Whether target[0] is wanted as leader; False where only the set is declared."""
    unnameable: frozenset[BrokerId] = frozenset()
    """Members of the original that no request may name: unregistered, or (from 4.4 on) cordoned."""
    below_min_isr: bool = False
    """The author accepts a target shorter than min.insync.replicas."""
    leader: BrokerId | None = None
    """Who led when planned: the source of the copy, for estimates and the preview only; never a precondition."""
    election: StandaloneElection | None = None
    """The kind of election that the move is, where it is one; original and target are the observed list then."""

    def __post_init__(self) -> None:
        for name, brokers in (("original", self.original), ("target", self.target)):
            if not brokers:
                raise ValueError(f"{self.partition}: empty {name}")
            if len(set(brokers)) != len(brokers):
                raise ValueError(f"{self.partition}: duplicate replica in {name} {list(brokers)}")

    @property
    def topic(self) -> str:
        """Of which topic."""
        return self.partition.topic

    @property
    def brokers(self) -> Replicas:
        """Those that it concerns."""
        return (*self.original, *self.target)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """That one."""
        return (self.partition,)

    @property
    def copies(self) -> Mapping[BrokerId, int]:
        """The new replicas, each with the size of the partition."""
        return dict.fromkeys(self.new, self.bytes)

    @property
    def compared(self) -> Mapping[str, str]:
        """What the plan knows of its topic; its lists are compared as lists."""
        topic = f"topics.{self.topic}"
        return {
            f"{topic}.id": str(self.topic_id),
            f"{topic}.min.insync.replicas": str(self.min_insync_replicas),
            f"{topic}.unclean.leader.election.enable": str(self.unclean_election).lower(),
        }

    @cached_property
    def new(self) -> Replicas:
        """N: the replicas that have to be copied, in target order; asked for many times in each tick."""
        return tuple(b for b in self.target if b not in self.original)

    @property
    def leaving(self) -> Replicas:
        """X: the replicas that go, in original order."""
        return tuple(b for b in self.original if b not in self.target)

    @property
    def kept(self) -> frozenset[BrokerId]:
        """O∩T: the replicas that stay, and can feed the copies."""
        return frozenset(self.original).intersection(self.target)

    @property
    def dropped(self) -> Replicas:
        """What assign itself takes away, as planned: what expand could not name, Kafka drops with the copy."""
        return tuple(b for b in self.leaving if not (self.new and b in self.unnameable))

    def awaited(self, *, drops: bool) -> Replicas:
        """Who must be in the ISR before assign: the whole target if it drops a replica, else the new and the first."""
        return self.target if drops else tuple(dict.fromkeys((*self.new, self.target[0])))

    @property
    def led_by_first(self) -> bool:
        """Whether the first of the original led it, as far as the plan knows who led."""
        return self.leader in {None, self.original[0]}

    @property
    def source(self) -> BrokerId:
        """Who sends the copies, as planned."""
        return source_of(self.leader, self.original)

    @property
    def expanded(self) -> Replicas:
        """E: the original, as far as it can be named, with the new replicas behind."""
        return tuple(b for b in self.original if b not in self.unnameable) + self.new

    @property
    def min_isr_with_copies(self) -> int:
        """How many replicas writes need in sync while the copies run: those count as assigned from the start."""
        return effective_min_isr(self.min_insync_replicas, len(self.original) + len(self.new))

    @property
    def copies_bytes(self) -> int:
        """Bytes that cross the network for this move."""
        return self.bytes * len(self.new)

    @property
    def changes_leader(self) -> bool:
        """Whether another broker leads once the move is done, as far as the plan knows who led."""
        return self.leader != self.target[0] and (self.elect or self.leader not in self.target)

    @property
    def may_change_leader(self) -> bool:
        """The same, or by the controller itself, which follows the head of a list that changes."""
        heads = self.original[0] != self.target[0] and self.leader != self.target[0]
        return heads or self.changes_leader

    @property
    def is_leader_only(self) -> bool:
        """Whether nothing changes but who leads: same list, in the same order."""
        return self.original == self.target


ObservedMove = tuple[Move, PartitionState]
"""A move, beside the partition as it was observed."""


def move_of(
    state: PartitionState,
    target: Replicas,
    settings: TopicSettings,
    reason: MoveReason,
    nameable: Collection[BrokerId],
    *,
    elect: bool = True,
    below_min_isr: bool = False,
    election: StandaloneElection | None = None,
) -> Move:
    """The move of a partition from where it is observed; `nameable`: the brokers that a request may name."""
    return Move(
        partition=state.partition,
        topic_id=state.topic_id,
        original=state.replicas,
        target=target,
        min_insync_replicas=settings.min_insync_replicas,
        unclean_election=settings.unclean_election,
        reason=reason,
        bytes=state.bytes,
        elect=elect,
        unnameable=frozenset(state.replicas).difference(nameable),
        below_min_isr=below_min_isr,
        leader=state.leader,
        election=election,
    )
