"""What the rules and the drains of a placement make of each partition's list: the question to the chooser, its answer.

The base lists of `overlays`: a declared list with a substitute for each drained broker, a list that a rule chose, or
the list that the partition has. Precedence is that of the placement file: drain, then explicit, then rule. A rule that
says nothing but a partition count leaves the lists as they are.

Not here: how brokers are chosen (`placing`), who comes first in a list (`overlays`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import lcm

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.broker import HEADROOM, Broker, Volumes
from replan.model.columns import PAD, Flags, Ints, Matrix, list_in_row, same_width, take, to_matrix
from replan.model.declared.placement import Placement
from replan.model.declared.rules import BrokerSelector, Spread, TopicRule
from replan.model.names import BrokerId, TopicPartition
from replan.model.snapshot import Snapshot, topic_codes
from replan.planning.comparison.acknowledged import acknowledging_entries
from replan.planning.comparison.alignment import Alignment, named_partitions, partition_rows
from replan.planning.comparison.apart import LeftToOthers, PlacedPartitions, Separated, separated
from replan.planning.comparison.balanced import balanced_by, leading_of, rates_of_rows
from replan.planning.placing.broken_rules import Finding, broken_rules
from replan.planning.placing.problem import (
    NO_LIMIT,
    NO_RACK,
    BrokerTable,
    Choice,
    Elsewhere,
    Imbalance,
    Impossible,
    Layout,
    PartitionTable,
    PlacementProblem,
    Rule,
)
from replan.planning.plans.log_dirs import drained_dirs, free_below

CHOICE_ROUNDS = 4
"""How often it is chosen again where other brokers are left to others by what was chosen."""
LIES = {
    Spread.RACK: Layout.RACK,
    Spread.IN_RACK: Layout.IN_RACK,
    Spread.NONE: Layout.NONE,
    None: Layout.NONE,
}


class BaseLists(Struct, frozen=True):
    """The base list of every partition, explicit and observed."""

    explicit: Matrix
    """Of each explicit row."""
    observed: Matrix
    """Of each observed row, where no explicit list names it."""
    changed: Flags
    """Observed rows that no explicit list names, and whose list a rule or a drain changes."""
    for_balance: Flags
    """Observed rows that kept their rule, and change for the balance."""
    impossible: tuple[Impossible, ...] = ()
    """With observed rows as partitions."""
    unjudged: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Observed rows that may keep their rule: it counts racks, and that of a broker that is down is not known."""
    imbalances: tuple[Imbalance, ...] = ()
    """How near the balance comes, where it comes no nearer than asked for."""
    led: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Observed rows whose order the balance decides; empty where it balances no leaders."""
    staying: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Observed rows that are placed by rule and stay as they are: an acknowledgement covers them."""
    findings: tuple[Finding, ...] = ()
    """Rules that the lists that were changed break: none, unless replan has a bug."""
    apart: Separated = field(default_factory=dict)
    """Brokers that topics leave to those that they are declared apart from."""


def choose_base_lists(
    aligned: Alignment, lists: Matrix, held: Matrix, fixed: Sequence[int] = ()
) -> BaseLists:
    """Choose.

    `lists`: what each observed row has, or is to have; `held`: the brokers that hold it already; `fixed`: rows that
    cannot move now, so that the balance has to do without them.
    """
    declared = to_matrix(aligned.placement.explicit.column("replicas"))
    nothing = np.zeros(len(lists), dtype=bool)
    if not aligned.intents.rules and not aligned.placement.drained:
        return BaseLists(declared, lists, nothing, nothing)
    question = _Question(aligned, declared, lists, held, fixed)
    if not len(question.rows):
        return BaseLists(
            declared, lists, nothing, nothing, unjudged=question.unjudged, apart=question.apart
        )
    from replan.planning.placing.choose import choose  # noqa: PLC0415 (most placements have no rule)

    lists_made = question.answered(choose(question.problem))
    for _ in range(CHOICE_ROUNDS if aligned.placement.apart else 0):
        apart = question.separated_after(lists_made)
        if apart == question.apart:
            break
        question = _Question(aligned, declared, lists, held, fixed, apart)
        lists_made = question.answered(choose(question.problem))
    return lists_made


class _Question:
    """The placement problem of a placement and a snapshot, and which rows its partitions are."""

    def __init__(
        self,
        aligned: Alignment,
        declared: Matrix,
        lists: Matrix,
        held: Matrix,
        fixed: Sequence[int],
        apart: Separated | None = None,
    ) -> None:
        """`apart`: else by the lists that partitions have."""
        placement, snapshot, ruled = aligned.placement, aligned.snapshot, aligned.intents.rules
        explicit_rows, drained = aligned.explicit_rows, placement.drained
        declared, lists = same_width(declared, lists)
        declared, held = same_width(declared, held)
        self._lists, self._declared = lists, declared
        self._placement = placement
        self._brokers = sorted(snapshot.brokers, key=lambda b: b.id)
        names = snapshot.topics.column("name").to_pylist()
        of_topic = [ruled.get(name) for name in names]
        unknown = snapshot.brokers_of_unknown_rack()
        codes = topic_codes(snapshot.partitions)
        self._explicit_row = np.full(len(lists), -1, dtype=np.int64)
        explicit = np.flatnonzero(explicit_rows >= 0)
        self._explicit_row[explicit_rows[explicit]] = explicit
        named = self._explicit_row >= 0
        base = lists.copy()
        base[named] = declared[self._explicit_row[named]]
        partitions = snapshot.partitions
        every = np.asarray(partitions.column("bytes"), dtype=np.int64)
        self._aligned, self._base = aligned, base
        self.apart = separated_in(aligned, base) if apart is None else apart
        widest = np.zeros(len(names) + 1, dtype=np.int64)
        np.maximum.at(widest, codes, (base != PAD).sum(axis=1))
        longest = dict(zip(names, widest.tolist(), strict=False))
        rules, by_rack, number_of = self._rules(names, of_topic, drained, unknown, longest)
        number = np.array([*number_of, 0], dtype=np.int64)[codes]
        by_rule = np.array([*(rule is not None for rule in of_topic), False])[codes] & ~named
        number[named & np.array([rule.layout is not Layout.LISTED for rule in rules])[number]] = 0
        gone = np.isin(base, np.array(sorted(drained), dtype=np.int32)).any(axis=1)
        factor = np.array([_factor(rule) for rule in [*of_topic, None]], dtype=np.int64)[codes]
        length = (base != PAD).sum(axis=1)
        wanted = np.where(by_rule & (factor > 0), factor, length)
        holds_unknown = by_rule & np.isin(base, sorted(unknown)).any(axis=1)
        unjudged = np.zeros(len(lists), dtype=bool)
        for at in np.flatnonzero(holds_unknown & ~gone & (wanted == length)).tolist():
            if by_rack[number[at]]:
                unjudged[at] = self._may_keep(
                    rules[number[at]], rules[number[at] + 1], list_in_row(base, at)
                )
        self.unjudged = np.flatnonzero(unjudged)
        number[holds_unknown & by_rack[number]] += 1  # the same with brokers of unknown rack
        in_problem = (by_rule | gone) & ~unjudged
        self.rows, rest = np.flatnonzero(in_problem), np.flatnonzero(~in_problem)
        _, acknowledged_by = acknowledging_entries(placement, snapshot)
        self._staying = np.flatnonzero(by_rule & (acknowledged_by >= 0))
        self._kept = np.concatenate([self._staying, np.array(fixed, dtype=np.int64)])
        sizes = every[self.rows]
        table = broker_table(self._brokers, drained, placement, base[rest], every[rest])
        table = _with_room(table, placement, snapshot.volumes, held[self.rows], sizes)
        leading, led = _leading(placement, snapshot, held)
        self.problem = PlacementProblem(
            table,
            PartitionTable(
                rule=number[self.rows],
                factor=wanted[self.rows],
                base=base[self.rows],
                current=held[self.rows],
                leader=leading[self.rows],
                bytes=sizes,
                topic=codes[self.rows].astype(np.int64),
            ),
            rules,
            Elsewhere(base[rest], codes[rest].astype(np.int64)),
            drained,
            () if unjudged.any() else balanced_by(placement, aligned.rates),
            rates_of_rows(aligned.rates, take(partitions, self.rows)),
            leading_of(aligned, self.rows, lists),
            np.flatnonzero(np.isin(self.rows, self._kept)),
            np.flatnonzero(led[self.rows]),
            drained_dirs=_in_drained_dirs(aligned, self.rows),
        )

    def _may_keep(self, rule: Rule, anywhere: Rule, held: Sequence[int]) -> bool:
        """Whether a list that holds brokers of unknown rack keeps a rule that goes by racks, wherever those are.

        `anywhere`: the same rule, if those are in the racks that it names.
        """
        racks = Counter(b.rack for b in self._brokers if b.id in held and b.rack is not None)
        candidates = dict(zip(self._brokers, rule.candidates.tolist(), strict=True))
        able = zip(self._brokers, anywhere.candidates.tolist(), strict=True)
        allowed = all(of for b, of in able if b.id in held)
        if not allowed or rule.layout is Layout.NONE:
            return allowed
        if rule.layout is Layout.IN_RACK:
            return len(racks) <= 1
        if rule.layout is Layout.PER_RACK:
            wanted = dict(
                zip(rack_names(self._brokers, self._placement), rule.per_rack, strict=True)
            )
            return all(number <= wanted[rack] for rack, number in racks.items())
        candidate_racks = {b.rack for b, of in candidates.items() if of}
        return max(racks.values(), default=0) <= -(-len(held) // max(len(candidate_racks), 1))

    def _rules(
        self,
        names: Iterable[str],
        of_topic: Iterable[TopicRule | None],
        drained: frozenset[BrokerId],
        unknown: frozenset[BrokerId],
        longest: Mapping[str, int],
    ) -> tuple[tuple[Rule, ...], Flags, list[int]]:
        """Different rules, which of them go by racks, and the number of each topic's.

        0 is that of the lists that no rule places, and that are not declared apart. A rule that goes by racks leaves
        brokers of unknown rack out; behind it is the same with them. `longest`: of the lists of each topic.
        """
        in_known_rack = np.array([b.id not in unknown for b in self._brokers], dtype=bool)
        able = np.array([b.id not in drained for b in self._brokers], dtype=bool)
        rules, by_rack = [Rule(Layout.LISTED, able)], [False]
        numbers: dict[tuple[object, ...], int] = {}
        racks = rack_names(self._brokers, self._placement)
        every, of_topics = able, list[int]()
        for name, rule in zip(names, of_topic, strict=True):
            able = every & without(self._brokers, self.apart.get(name, ()))
            if rule is None:
                key: tuple[object, ...] = (Layout.LISTED, able.tobytes())
                if name in self.apart and key not in numbers:
                    numbers[key] = len(rules)
                    rules.append(Rule(Layout.LISTED, able))
                    by_rack.append(False)
                of_topics.append(numbers[key] if name in self.apart else 0)
                continue
            layout, per_rack = layout_of(rule, racks)
            meant = able & among(self._brokers, rule)
            if layout is Layout.RACK and name in self.apart:
                width = rule.replication_factor or longest[name]
                layout, per_rack = self._in_all_racks(
                    every & among(self._brokers, rule), meant, width
                )
            goes_by_rack = layout is not Layout.NONE or rule.names_racks
            wide = meant | (able & ~in_known_rack & among(self._brokers, rule, anywhere=True))
            most = rule.max_replicas_per_broker
            key = (layout, per_rack, most, goes_by_rack, meant.tobytes(), wide.tobytes())
            if key not in numbers:
                numbers[key] = len(rules)
                if goes_by_rack:
                    rules += [
                        Rule(layout, of, per_rack, most) for of in (meant & in_known_rack, wide)
                    ]
                    by_rack += [True, True]
                else:
                    rules.append(Rule(layout, meant, most=most))
                    by_rack.append(False)
            of_topics.append(numbers[key])
        return tuple(rules), np.array(by_rack), of_topics

    def _in_all_racks(
        self, wide: Flags, narrow: Flags, factor: int
    ) -> tuple[Layout, tuple[int, ...]]:
        """A spread over the racks of all brokers of a rule, some of which are left to others.

        Where the racks of the rest do not do, as many replicas are wanted in those that are left to others.
        """
        racks = rack_names(self._brokers, self._placement)
        of = [b.rack for b in self._brokers]
        every, rest = ({of[i] for i in np.flatnonzero(some)} - {None} for some in (wide, narrow))
        if every == rest or not every or (factor < len(every) and factor <= len(rest)):
            return Layout.RACK, ()
        floor, extra = divmod(factor, len(every))
        first = sorted(every, key=lambda rack: (rack in rest, rack))[:extra]
        return Layout.PER_RACK, tuple((rack in every) * (floor + (rack in first)) for rack in racks)

    def answered(self, choice: Choice) -> BaseLists:
        """The answer by observed and explicit row."""
        partitions = self.problem.partitions
        lists, had = same_width(choice.lists, partitions.base)
        differs = np.flatnonzero((lists != had).any(axis=1))
        given_up = [row for reason in choice.impossible for row in reason.partitions]
        declared, observed = same_width(self._declared, choice.lists)[0], self._lists
        observed, chosen_lists = same_width(observed, choice.lists)
        declared, observed = declared.copy(), observed.copy()
        explicit = self._explicit_row[self.rows]
        declared[explicit[explicit >= 0]] = chosen_lists[explicit >= 0]
        plain = self.rows[explicit < 0]
        changed = np.zeros(len(observed), dtype=bool)
        changed[plain] = (chosen_lists[explicit < 0] != observed[plain]).any(axis=1)
        observed[plain] = chosen_lists[explicit < 0]
        for_balance = np.zeros(len(observed), dtype=bool)
        for_balance[self.rows] = changed[self.rows] & choice.in_place
        return BaseLists(
            declared,
            observed,
            changed,
            for_balance,
            tuple(self._by_row(reason) for reason in choice.impossible),
            self.unjudged,
            choice.imbalances,
            self._led(),
            self._staying,
            tuple(
                Finding(int(self.rows[finding.row]), finding.breach)
                for finding in broken_rules(
                    self.problem, choice, sorted({*differs.tolist(), *given_up})
                )
            ),
            self.apart,
        )

    def separated_after(self, lists_made: BaseLists) -> Separated:
        """The brokers that each topic leaves to others by the lists that were chosen."""
        declared, lists = same_width(lists_made.explicit, lists_made.observed)
        base = same_width(self._base, lists)[0]
        named = self._explicit_row >= 0
        lists = lists.copy()
        lists[named] = declared[self._explicit_row[named]]
        lists[self._kept] = base[self._kept]
        return separated_in(self._aligned, lists)

    def _led(self) -> Flags:
        """Observed rows whose order the balance decides."""
        leading = self.problem.leading
        led = np.zeros(len(self._lists), dtype=bool)
        if leading is not None:
            led[self.rows[~self.problem.listed & ~leading.declared]] = True
        return led

    def _by_row(self, reason: Impossible) -> Impossible:
        rows = tuple(int(self.rows[row]) for row in reason.partitions)
        return Impossible(
            reason.obstacle, rows, reason.rack, reason.brokers, reason.needed, reason.available
        )


def separated_in(aligned: Alignment, lists: Matrix | None = None) -> Separated:
    """The brokers that each topic leaves to others, by these lists; else by those that its partitions have now."""
    placement, snapshot = aligned.placement, aligned.snapshot
    partitions = snapshot.partitions
    placed = PlacedPartitions(
        to_matrix(partitions.column("replicas")) if lists is None else lists,
        topic_codes(partitions).astype(np.int64),
        np.asarray(partitions.column("bytes"), dtype=np.int64),
    )
    return separated(
        placement.apart,
        snapshot.topics.column("name").to_pylist(),
        aligned.intents.rules,
        placed,
        sorted(snapshot.brokers, key=lambda b: b.id),
        placement.drained,
    )


def without(brokers: Iterable[Broker], to_others: Iterable[LeftToOthers]) -> Flags:
    """Which brokers a topic does not leave to others."""
    gone = frozenset[BrokerId]().union(*(group.brokers for group in to_others))
    return np.array([b.id not in gone for b in brokers], dtype=bool)


def layout_of(rule: TopicRule, racks: Sequence[str]) -> tuple[Layout, tuple[int, ...]]:
    """How it lies over these racks, and where each has a number of its own, that."""
    if not rule.replicas_per_rack:
        return LIES[rule.spread], ()
    return Layout.PER_RACK, tuple(rule.replicas_per_rack.get(rack, 0) for rack in racks)


def rack_names(brokers: Iterable[Broker], placement: Placement) -> tuple[str, ...]:
    """The racks of brokers, sorted, and those that a rule gives a number: a rack may be down, and not known."""
    declared = {rack for rule in placement.rules.values() for rack in rule.replicas_per_rack}
    return tuple(sorted(declared.union(b.rack for b in brokers if b.rack is not None)))


def _factor(rule: TopicRule | None) -> int:
    return 0 if rule is None or rule.replication_factor is None else rule.replication_factor


def among(brokers: Iterable[Broker], rule: TopicRule, *, anywhere: bool = False) -> Flags:
    """Which brokers a rule may use; `anywhere`: if their racks were those that it names."""
    if not anywhere:
        return np.array([rule.may_use(b.id, b.rack) for b in brokers], dtype=bool)
    ids = None if rule.brokers is None else BrokerSelector(rule.brokers.ids)
    return np.array([ids is None or ids.means(b.id, None) for b in brokers], dtype=bool)


def broker_table(
    brokers: list[Broker],
    drained: frozenset[BrokerId],
    placement: Placement,
    others: Matrix,
    sizes: Ints,
) -> BrokerTable:
    """`others`, `sizes`: the lists and the bytes of the partitions that are not in the problem."""
    ids = np.array([b.id for b in brokers], dtype=np.int64)
    racks = rack_names(brokers, placement)
    at = {rack: i for i, rack in enumerate(racks)}
    given = {} if placement.balance is None else placement.balance.weights
    weights = [given.get(b.id, Fraction(1)) for b in brokers]
    common = lcm(*(w.denominator for w in weights))
    registered = np.isin(others, ids)
    positions = np.searchsorted(ids, others[registered])
    bytes_ = np.zeros(len(ids), dtype=np.int64)
    np.add.at(bytes_, positions, np.broadcast_to(sizes[:, None], others.shape)[registered])
    return BrokerTable(
        ids,
        rack=np.array([NO_RACK if b.rack is None else at[b.rack] for b in brokers], dtype=np.int64),
        racks=racks,
        open=np.array([b.takes_new and b.id not in drained for b in brokers], dtype=bool),
        fenced=np.array([b.fenced for b in brokers], dtype=bool),
        weight=np.array([max(int(w * common), 1) for w in weights], dtype=np.int64),
        replicas=np.bincount(positions, minlength=len(ids)).astype(np.int64),
        bytes=bytes_,
        room=np.full(len(ids), NO_LIMIT),
    )


def _with_room(
    table: BrokerTable, placement: Placement, volumes: Volumes, held: Matrix, sizes: Ints
) -> BrokerTable:
    """The same brokers with what they may hold, and hold before the policy empties their directories again."""
    room = partial(_room, table, volumes, held, sizes)
    share = placement.reconcile.log_dir_share
    below = None if share is None else room(free_below(share))
    return replace(table, room=room(HEADROOM), below=below)


def _room(
    table: BrokerTable,
    volumes: Volumes,
    held: Matrix,
    sizes: Ints,
    free: float | Fraction,
) -> Ints:
    """What each broker may hold of some partitions: what it holds of them, and what its open volumes can take.

    `free`: the share of each volume that stays free. A volume that takes not even the smallest of them takes nothing:
    what is left of two disks is not room for a replica. Which directory a copy comes to lie in is judged by `room`.
    """
    smallest = int(sizes[sizes > 0].min(initial=NO_LIMIT))
    room = np.full(len(table.ids), NO_LIMIT)
    for at, broker in enumerate(table.ids.tolist()):
        of_broker = volumes.get(broker, ())
        rooms = [of[0].room(free) for of in of_broker if any(d.takes_new for d in of)]
        takes = [more if more >= smallest else 0 for more in rooms if more is not None]
        if rooms and len(takes) == len(rooms):
            lies = int(sizes[(held == broker).any(axis=1)].sum())
            room[at] = min(lies + sum(takes), NO_LIMIT)
    return room


def _in_drained_dirs(aligned: Alignment, rows: Ints) -> dict[int, frozenset[int]]:
    """Of some observed rows, by their place: the brokers whose replica lies in a directory that is to be empty."""
    brokers_at: dict[int, set[int]] = {}
    for entry, log_dir in drained_dirs(aligned.placement, aligned.snapshot):
        replicas = {} if log_dir is None else log_dir.replicas
        names = [TopicPartition(topic, n) for topic, numbers in replicas.items() for n in numbers]
        lie = aligned.observed.rows(named_partitions(names))
        for place in np.flatnonzero(np.isin(rows, lie)).tolist():
            brokers_at.setdefault(place, set()).add(entry.broker)
    return {place: frozenset(brokers) for place, brokers in brokers_at.items()}


def _leading(placement: Placement, snapshot: Snapshot, held: Matrix) -> tuple[Ints, Flags]:
    """Who leads each observed partition, or shall lead it by its id and holds it: who goes last where some must go.

    And where that is declared.
    """
    leading = np.asarray(snapshot.partitions.column("leader")).astype(np.int64)
    declared = np.zeros(len(leading), dtype=bool)
    wanted = placement.preferred_leaders
    rows = partition_rows(named_partitions(wanted), snapshot.partitions) if wanted else ()
    for at, preferred in zip(rows, wanted.values(), strict=True):
        if at >= 0 and preferred.broker in held[at]:
            leading[at], declared[at] = preferred.broker, True
    return leading, declared
