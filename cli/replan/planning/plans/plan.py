"""A plan as a value: what was read, what was decided, and nothing of when or by whom, so that two plans of one
state are the same bytes.

A partition whose list is refused has no move, and no move waits for another one: the moves are what can be done
without it.

The written form is in `plan_file`; its requests are derived by `preview`; safety and refusals by
`safety`. Refusals and warnings are values: the sentences are `reporting`'s, but for
`left_out_text`, which the applier writes into the journal, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import Any

from msgspec import field
from msgspec.structs import replace

from replan.documents.json_text import advice, shown
from replan.documents.typed import Form, Int32, Int64, Text
from replan.errors import Exit
from replan.model.declared.placement import MoveThrottle
from replan.model.declared.policy import Measure
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.rates import JudgedBy
from replan.planning.change import Change, PlannedStep
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.creates import Create
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.planning.recovery.recovery import Recovery
from replan.wording import count


class RefusalRule(StrEnum):
    """Why a partition is not planned; sentences are in `reporting.sentences`, rules in `safety.refusals`."""

    RUNNING = "running"
    """Another tool's reassignment runs on it: held rather than refused."""
    OWN_RUNNING = "own-running"
    """What the open application of replan itself has asked for."""
    LEFT_RUNNING = "left-running"
    """The same where an application of replan's has begun it, and has ended (`RememberedOrder.left`)."""
    NO_LEADER = "no-leader"
    TARGET_BELOW_MIN_ISR = "target-below-min-isr"
    UNREGISTERED = "unregistered"
    CORDONED = "cordoned"
    SAFE_START = "safe-start"
    UNCLEAN_GUARD = "unclean-guard"
    RACKS_LOST = "racks-lost"
    """A drain would take away a rack that `require` wants (`planning.making.required_racks`)."""
    NO_SUBSTITUTE = "no-substitute"
    """The others up to the last: no placement keeps the rule (`placing.problem.Obstacle`)."""
    TOO_FEW_BROKERS = "too-few-brokers"
    WITHOUT_RACK = "without-rack"
    RACK_LACKS_BROKERS = "rack-lacks-brokers"
    RACKS_LACK_BROKERS = "racks-lack-brokers"
    NO_RACK_IS_LARGE_ENOUGH = "no-rack-is-large-enough"
    TOPIC_CROWDS_BROKERS = "topic-crowds-brokers"
    BROKERS_FULL = "brokers-full"
    """It is to be created where brokers would hold more than `balance` lets them."""
    TOPIC_RUNNING = "topic-running"
    """It is to be created, and a reassignment runs on its topic: held rather than refused."""
    FACTORS_DIFFER = "factors-differ"
    """It is to be created, and the partitions of its topic have different numbers of replicas."""
    NO_PARTITIONS = "no-partitions"
    """The same where its topic shows none, so that nobody knows how many replicas Kafka wants."""
    COUNT_IS_FIXED = "count-is-fixed"
    """It is to be created, and its topic's records are found by the number of partitions (`names.has_fixed_count`)."""
    NO_ROOM = "no-room"
    NO_ROOM_BEFORE = "no-room-before"
    """Its room is taken by a replica that waits for room itself: that one must be moved aside first."""
    NO_ROOM_IN_LOG_DIRS = "no-room-in-log-dirs"
    """It is to leave a log directory, and fits into no other of its broker."""
    BEYOND_LIMIT = "beyond-limit"
    """A plan is made in stages, and its change is beyond a limit all by itself."""
    RECOVERY_REASSIGNED = "recovery-reassigned"
    """The others up to the last: nobody is chosen to lead it again (`recovery.choose.RecoveryObstacle`)."""
    BETTER_MAY_RETURN = "better-may-return"
    NO_LOG_KNOWN = "no-log-known"
    NO_SUCH_REPLICA = "no-such-replica"
    CHOSEN_NOT_LIVE = "chosen-not-live"
    CHOSEN_UNKNOWN = "chosen-unknown"
    FEWER_PARTITIONS = "fewer-partitions"
    """`partitionCount` is below what the topic has."""
    PREFERRED_UNAVAILABLE = "preferred-unavailable"
    """A preferred election is asked for, and Kafka would answer it with 80 (PREFERRED_LEADER_NOT_AVAILABLE)."""
    DESIGNATED_UNAVAILABLE = "designated-unavailable"
    """The same of a replica that was named, and is not the first of the list."""
    LEADER_BLACKLISTED = "leader-blacklisted"
    """An election is asked for, and who would lead is on the leader blacklist."""
    NO_SUCH_PARTITION = "no-such-partition"
    """An election is asked for of a partition that does not exist."""


class WarningKind(StrEnum):
    """What stops nothing, and should be known."""

    LEADERLESS = "leaderless"
    HIDDEN = "hidden"
    """Topics that this user may not describe: nothing is known of them."""
    BROKER_DOWN = "broker-down"
    """A broker does not serve: fenced, or named by lists and not registered."""
    AWAITED = "awaited"
    """Which broker Kafka elects by itself, once it is back, for partitions without a leader."""
    FENCED_TARGET = "fenced-target"
    UNCLEAN_ELECTION = "unclean-election"
    CONVERGING = "converging"
    ENTRY_UNREGISTERED = "entry-unregistered"
    BLACKLIST_REVIEW_DUE = "blacklist-review-due"
    BLACKLIST_CAUGHT_UP = "blacklist-caught-up"
    BLACKLIST_STAYS = "blacklist-stays"
    """The placement has no `blacklists.leaders`, and an earlier one has changed orders."""
    PREFERRED_BLACKLISTED = "preferred-blacklisted"
    PREFERRED_LAST = "preferred-last"
    PREFERRED_DRAINED = "preferred-drained"
    MATCHES_NOTHING = "matches-nothing"
    """An entry means no topic or partition of the cluster."""
    STAY_TOGETHER = "stay-together"
    """Topics that are declared apart, share brokers, and are placed by no rule."""
    DRAIN_UNREGISTERED = "drain-unregistered"
    """A broker is to hold nothing, and is not registered."""
    WEIGHTS_ALONE = "weights-alone"
    """`balance` has weights, and balances nothing."""
    BALANCES_NOTHING = "balances-nothing"
    """`balance` without a topic that is placed by rule."""
    NEEDS_RATES = "needs-rates"
    """`balance` goes by what producers write, and nobody has said what that is."""
    RATES_UNKNOWN = "rates-unknown"
    """Of some partitions that are balanced by what producers write, nobody knows what that is."""
    UNKNOWN_RACK = "unknown-rack"
    RACK_NOT_TOLD = "rack-not-told"
    """A broker is down whose rack Kafka does not tell: what it holds is kept, and judged when it is back."""
    FEWER_RACKS = "fewer-racks"
    BALANCE = "balance"
    """How near the balance comes, where that is not as near as is asked for."""
    RACKS_LEFT = "racks-left"
    """Replicas that a rule or a drain places end in fewer racks than they are in, as there is no other way."""
    MIN_ISR_ABOVE_REPLICAS = "min-isr-above-replicas"
    STANDING_UNREAD = "standing-unread"
    STANDING_WITHOUT_REPLICAS = "standing-without-replicas"
    """A standing rate of a broker on which no replica is throttled."""
    LOG_DIR_UNREAD = "log-dir-unread"
    LOG_DIR_UNCORDONED = "log-dir-uncordoned"
    ACKNOWLEDGED = "acknowledged"
    ACKNOWLEDGEMENT_EXPIRED = "acknowledgement-expired"
    ELECTION_NOT_NEEDED = "election-not-needed"
    STILL_DECLARED = "still-declared"
    """A plan goes back, and the placement still declares what it goes back from."""
    PARTITIONS_STAY = "partitions-stay"
    """A plan goes back, and Kafka cannot remove the partitions that were created."""
    SETTING_CHANGED_SINCE = "setting-changed-since"
    """The same for a throttle setting."""
    CHANGED_SINCE = "changed-since"
    """A plan goes back, and these were changed by somebody since: they are left as they are."""
    FIRST_LEADS_ON = "first-leads-on"
    """A plan goes back, and these were not led by the first of their list, as they are now."""
    LOG_DIRS_STAY = "log-dirs-stay"
    """A plan goes back, and replicas of these stay in the log directories of their broker where they lie now."""
    RECOVERIES_STAY = "recoveries-stay"
    """A plan goes back, and nothing takes back the elections by which these are led again."""
    MORE_STAGES = "more-stages"
    """What the limits leave for later plans."""
    JOURNAL_MADE = "journal-made"
    """The topic of the journal does not exist: whoever applies the plan makes it, on these brokers."""


FactValue = Int64 | str | tuple[Int32 | str, ...]
"""A list is of brokers or of texts."""
Facts = Mapping[str, FactValue]
"""Measures and limits by name, as plan files spell them; which ones a rule or a kind has is in `FACTS`."""

FACTS: Mapping[RefusalRule | WarningKind, tuple[str, ...]] = {
    RefusalRule.RUNNING: ("target", "adding", "removing"),
    RefusalRule.OWN_RUNNING: ("target", "adding", "removing"),
    RefusalRule.LEFT_RUNNING: ("target", "adding", "removing"),
    RefusalRule.NO_LEADER: ("inSync", "target"),
    RefusalRule.TARGET_BELOW_MIN_ISR: ("target", "minInsyncReplicas"),
    RefusalRule.UNREGISTERED: ("original", "brokers"),
    RefusalRule.CORDONED: ("target", "brokers"),
    RefusalRule.SAFE_START: ("original", "minInsyncReplicas", "needed"),
    RefusalRule.UNCLEAN_GUARD: ("inSync",),
    RefusalRule.RACKS_LOST: ("where", "needed", "available", "target"),
    RefusalRule.NO_SUBSTITUTE: ("brokers",),
    RefusalRule.TOO_FEW_BROKERS: ("rule", "needed", "available"),
    RefusalRule.WITHOUT_RACK: ("rule", "brokers"),
    RefusalRule.RACK_LACKS_BROKERS: ("rule", "rack", "needed", "available"),
    RefusalRule.RACKS_LACK_BROKERS: ("rule", "needed", "available"),
    RefusalRule.NO_RACK_IS_LARGE_ENOUGH: ("rule", "needed", "available"),
    RefusalRule.TOPIC_CROWDS_BROKERS: ("rule", "brokers", "needed", "available"),
    RefusalRule.BROKERS_FULL: ("rule", "where", "brokers", "needed", "available"),
    RefusalRule.TOPIC_RUNNING: ("partitions", "count"),
    RefusalRule.FACTORS_DIFFER: ("factors",),
    RefusalRule.NO_PARTITIONS: (),
    RefusalRule.COUNT_IS_FIXED: ("rule", "declared", "observed"),
    RefusalRule.NO_ROOM: ("broker", "path", "bytes", "usable"),
    RefusalRule.NO_ROOM_BEFORE: ("broker", "path", "bytes", "usable", "aside"),
    RefusalRule.NO_ROOM_IN_LOG_DIRS: ("broker", "path", "bytes", "largest"),
    RefusalRule.BEYOND_LIMIT: ("where", "measure", "found", "most"),
    RefusalRule.FEWER_PARTITIONS: ("rule", "declared", "observed"),
    RefusalRule.PREFERRED_UNAVAILABLE: ("broker", "why", "inSync"),
    RefusalRule.DESIGNATED_UNAVAILABLE: ("broker", "why", "inSync"),
    RefusalRule.LEADER_BLACKLISTED: ("broker", "where"),
    RefusalRule.NO_SUCH_PARTITION: (),
    RefusalRule.RECOVERY_REASSIGNED: ("brokers",),
    RefusalRule.BETTER_MAY_RETURN: ("brokers",),
    RefusalRule.NO_LOG_KNOWN: ("brokers",),
    RefusalRule.NO_SUCH_REPLICA: ("brokers",),
    RefusalRule.CHOSEN_NOT_LIVE: ("brokers",),
    RefusalRule.CHOSEN_UNKNOWN: ("brokers",),
    WarningKind.LEADERLESS: ("partitions", "count"),
    WarningKind.HIDDEN: ("topics", "count"),
    WarningKind.BROKER_DOWN: ("broker", "registered", "replicas", "withoutLeader", "underMinIsr"),
    WarningKind.AWAITED: ("why", "brokers", "partitions", "count"),
    WarningKind.FENCED_TARGET: ("broker",),
    WarningKind.UNCLEAN_ELECTION: ("topics", "count"),
    WarningKind.CONVERGING: ("partitions", "count"),
    WarningKind.ENTRY_UNREGISTERED: ("where", "broker"),
    WarningKind.BLACKLIST_REVIEW_DUE: ("where", "broker", "reviewBy"),
    WarningKind.BLACKLIST_CAUGHT_UP: ("where", "broker"),
    WarningKind.BLACKLIST_STAYS: ("brokers", "partitions", "count"),
    WarningKind.PREFERRED_BLACKLISTED: ("where", "partition", "broker"),
    WarningKind.PREFERRED_LAST: ("where", "partition", "broker"),
    WarningKind.PREFERRED_DRAINED: ("where", "partition", "broker"),
    WarningKind.MATCHES_NOTHING: ("where", "section", "name"),
    WarningKind.STAY_TOGETHER: ("where", "topics", "brokers"),
    WarningKind.DRAIN_UNREGISTERED: ("where", "broker"),
    WarningKind.WEIGHTS_ALONE: ("where",),
    WarningKind.BALANCES_NOTHING: ("where",),
    WarningKind.NEEDS_RATES: ("where", "measures"),
    WarningKind.RATES_UNKNOWN: ("where", "partitions", "count"),
    WarningKind.UNKNOWN_RACK: ("where", "rack"),
    WarningKind.RACK_NOT_TOLD: ("brokers", "partitions", "count"),
    WarningKind.FEWER_RACKS: ("where", "racks", "partitions", "count"),
    WarningKind.BALANCE: (
        "where",
        "measure",
        "asked",
        "reached",
        "brokers",
        "proved",
        "rules",
        "closed",
        "held",
    ),
    WarningKind.RACKS_LEFT: ("racks", "partitions", "count"),
    WarningKind.MIN_ISR_ABOVE_REPLICAS: ("minInsyncReplicas", "replicas", "topics", "count"),
    WarningKind.STANDING_UNREAD: ("where", "broker"),
    WarningKind.STANDING_WITHOUT_REPLICAS: ("where", "broker", "side"),
    WarningKind.LOG_DIR_UNREAD: ("where", "broker", "path"),
    WarningKind.LOG_DIR_UNCORDONED: ("where", "broker", "path"),
    WarningKind.ACKNOWLEDGED: ("where", "reason", "expires", "partitions", "count"),
    WarningKind.ACKNOWLEDGEMENT_EXPIRED: ("where", "acknowledged", "expires"),
    WarningKind.ELECTION_NOT_NEEDED: ("partitions", "count"),
    WarningKind.STILL_DECLARED: ("application",),
    WarningKind.PARTITIONS_STAY: ("topic", "before", "count"),
    WarningKind.SETTING_CHANGED_SINCE: ("setting", "found"),
    WarningKind.CHANGED_SINCE: ("partitions", "count"),
    WarningKind.FIRST_LEADS_ON: ("partitions", "count"),
    WarningKind.LOG_DIRS_STAY: ("partitions", "count"),
    WarningKind.RECOVERIES_STAY: ("partitions", "count"),
    WarningKind.MORE_STAGES: ("stages", "count"),
    WarningKind.JOURNAL_MADE: ("topic", "replicas"),
}
"""`partitions` and `topics` name the first of `count`."""


def _check_facts(of: RefusalRule | WarningKind, facts: Facts) -> None:
    for name in FACTS[of]:
        if name not in facts:
            raise ValueError(f'.facts: "{name}" is missing')
    for name, fact in facts.items():
        if name not in FACTS[of]:
            raise ValueError(f".facts: unknown key {shown(name)}; {advice(name, FACTS[of])}")
        if isinstance(fact, tuple) and len(set(map(type, fact))) > 1:
            raise ValueError(f".facts.{name}: expected brokers or texts, not both")


class Refusal(Form, frozen=True):
    """A partition that the plan does not serve, and why, with exactly the facts of its rule."""

    topic: Text
    number: Int32 = field(name="partition")
    rule: RefusalRule
    """The rule that refuses it; `running` means that another party is in the way."""
    facts: Facts

    def __post_init__(self) -> None:
        _check_facts(self.rule, self.facts)

    @property
    def partition(self) -> TopicPartition:
        """Which partition."""
        return TopicPartition(self.topic, self.number)

    @property
    def of_the_list(self) -> bool:
        """Whether it is about the partition's replica list, so that no move can be planned beside it."""
        return self.rule not in {
            RefusalRule.FEWER_PARTITIONS,
            RefusalRule.NO_ROOM_IN_LOG_DIRS,
            RefusalRule.BEYOND_LIMIT,
        }

    @property
    def held(self) -> bool:
        """Whether another party is in the way, or the open application: exit 4 rather than 3."""
        return self.rule in {
            RefusalRule.RUNNING,
            RefusalRule.OWN_RUNNING,
            RefusalRule.LEFT_RUNNING,
            RefusalRule.TOPIC_RUNNING,
            RefusalRule.RECOVERY_REASSIGNED,
        }

    @property
    def held_by_others(self) -> bool:
        """Whether what is in the way is another party's, and not replan's own."""
        return self.held and self.rule not in {RefusalRule.OWN_RUNNING, RefusalRule.LEFT_RUNNING}


class PlanWarning(Form, frozen=True):
    """What a person should know beside the moves and the refusals, with exactly the facts of its kind."""

    kind: WarningKind
    facts: Facts

    def __post_init__(self) -> None:
        _check_facts(self.kind, self.facts)


class BesideMoves(Form, frozen=True, kw_only=True):
    """What a plan does beside moves, a field for each kind of step, in the order in which a plan file has them."""

    standing: tuple[ThrottleSetting, ...] = ()
    """Throttle settings that stay; before anything that needs one of them for a copy."""
    creates: tuple[Create, ...] = ()
    """By topic; each before the moves of its topic."""
    recoveries: tuple[Recovery, ...] = ()
    """By partition; of partitions that no move touches."""
    log_moves: tuple[LogMove, ...] = ()
    """Replicas that move to other log directories of their brokers."""

    @property
    def by_kind(self) -> dict[str, Any]:
        """The steps of each kind that there are some of, a tuple by its field."""
        kinds = {kind: getattr(self, kind) for kind in BesideMoves.__struct_fields__}
        return {kind: steps for kind, steps in kinds.items() if steps}

    @property
    def beside_moves(self) -> list[PlannedStep]:
        """All of them."""
        return [*chain.from_iterable(self.by_kind.values())]


class Plan(BesideMoves, frozen=True):
    """Moves in the order in which they are admitted, and all that is needed to perform them safely."""

    cluster_id: str
    placement_digest: str
    racks: Mapping[BrokerId, str | None]
    """Registered brokers when planned; a target that is gone or has moved racks makes its moves stale."""
    moves: tuple[Move, ...]
    throttle: MoveThrottle | None = None
    refusals: tuple[Refusal, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    """What is behind the refusals of partitions that cannot be placed; in the order of their first partitions."""
    warnings: tuple[PlanWarning, ...] = ()
    cluster_name: str | None = None
    """What people call the cluster, from the placement; for its readers alone."""
    remember: frozenset[TopicPartition] = field(default_factory=frozenset)
    """Partitions whose original order only the leader blacklist changes: it is journalled before the change."""
    allowed: Mapping[Measure, int] = field(default_factory=dict)
    """Limits of the placement that were raised for this plan alone."""
    judged_by: JudgedBy | None = None
    """By which rates it was judged that its copies end; None: it was not."""
    placement_commit: str = ""
    """The commit of git that the placement was read from; empty where it was read from files."""
    silent: Replicas = ()
    """Live brokers that did not say what they hold when planned: sizes of partitions are not known there."""

    @property
    def journal_replicas(self) -> Replicas:
        """Where the topic of the journal is to be made, where it does not exist; empty where nobody says."""
        made = [w.facts["replicas"] for w in self.warnings if w.kind is WarningKind.JOURNAL_MADE]
        return tuple(BrokerId(int(b)) for of in made if isinstance(of, tuple) for b in of)

    @property
    def sizes_known(self) -> bool:
        """Whether every live broker said what its log directories hold, so that 0 bytes are an empty partition."""
        return not self.silent

    @property
    def unclean(self) -> tuple[Recovery, ...]:
        """The recoveries that lose records, or may."""
        return tuple(r for r in self.recoveries if not r.clean)

    @property
    def left_out(self) -> Exit:
        """What leaving out the refused partitions means for an exit code, the same for each command.

        4 where other parties alone are in the way, 3 where a safety rule is, 0 where nothing is refused.
        """
        if any(not r.held for r in self.refusals):
            return Exit.REFUSED
        return Exit.HELD if self.refusals else Exit.OK

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.steps > 0

    @property
    def all_changes(self) -> Iterator[Change]:
        """Its steps of all kinds."""
        return chain(self.moves, self.beside_moves)

    @property
    def steps(self) -> int:
        """How many there are."""
        return len(self.moves) + len(self.beside_moves)

    @property
    def topics(self) -> frozenset[str]:
        """Those that it changes."""
        return frozenset(c.topic for c in self.all_changes if c.topic is not None)

    def only(self, keep: Callable[[Change], bool]) -> "Plan":
        """The same with those of its steps alone that are to be kept."""
        kept = {kind: tuple(filter(keep, steps)) for kind, steps in self.by_kind.items()}
        return replace(self, moves=tuple(filter(keep, self.moves)), **kept)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do and nothing was refused."""
        return not self.changes and not self.refusals


def left_out_text(refusals: Iterable[Refusal]) -> str:
    """How many partitions a plan leaves out: `1 partition refused, 2 held`; empty where none."""
    held_of = {r.partition: r.held for r in refusals}
    held = sum(held_of.values())
    parts = [f"{count(len(held_of) - held, 'partition')} refused"] if len(held_of) > held else []
    parts += [f"{count(held, 'partition')} held"] if held else []
    return ", ".join(parts)
