"""A partition that differs becomes a move: the list that it is to get, and which of all entries asks for it."""

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import take, topics_of
from replan.model.configs import TopicSettings
from replan.model.declared.placement import LeaderBlacklist
from replan.model.declared.rules import ReplicaBlacklist
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.comparison.diff import MOVABLE, DifferenceKind, Differences
from replan.planning.comparison.leader_order import last_leaders
from replan.planning.comparison.overlays import WantedLists
from replan.planning.comparison.remembered import behind, demoted
from replan.planning.plans.moves import Move, MoveReason, ReasonKind, move_of


class MoveWanted(Struct, frozen=True):
    """A move, and what it was made of."""

    move: Move
    state: PartitionState
    """What it was planned from."""
    remember: bool
    """Its order is written down nowhere else."""


def wanted_moves(
    differs: Differences, wanted: WantedLists, aligned: Alignment, nameable: frozenset[BrokerId]
) -> Iterator[MoveWanted]:
    """A move of each difference that a move can remove, safe or not, by topic and partition.

    `nameable`: brokers that a request may name.
    """
    lookups = _lookups(differs, aligned, nameable)
    planned = np.flatnonzero(np.isin(differs.table.column("kind"), MOVABLE))
    table = take(differs.table, planned)
    at = differs.positions[planned]
    rows = wanted.rows[at]
    marks = (
        wanted.explicit[at],
        wanted.demoted[at],
        wanted.ordered[at],
        wanted.led[at],
        wanted.chosen.for_balance[rows],
        wanted.remember[at],
    )
    states = aligned.snapshot.states(rows.tolist())
    for row, state, *of, remember in zip(table.to_pylist(), states, *marks, strict=True):
        kind, replicas = DifferenceKind(row["kind"]), tuple(row["wanted"])
        difference = _Difference(kind, replicas, *map(bool, of))
        yield MoveWanted(_move(difference, state, lookups), state, bool(remember))


def _move(difference: "_Difference", state: PartitionState, lookups: "_Lookups") -> Move:
    topic = state.partition.topic
    intents = lookups.aligned.intents
    entry = lookups.aligned.placement.topics.get(topic) or intents.rules.get(topic)
    return move_of(
        state,
        difference.wanted,
        lookups.settings[topic],
        _reason(difference, state, lookups),
        lookups.nameable,
        elect=difference.led
        and (difference.ordered or difference.kind is not DifferenceKind.REPLICAS),
        below_min_isr=entry is not None and entry.below_min_isr,
    )


class _Difference(Struct, frozen=True):
    """What a move is to remove, with all that its reason and its requests need to know."""

    kind: DifferenceKind
    wanted: Replicas
    explicit: bool
    demoted: bool
    """The leader blacklist changed the list."""
    ordered: bool
    """Its order is declared, or changed by the leader blacklist; otherwise its set alone."""
    led: bool
    """The first of its list is wanted as leader now."""
    balanced: bool
    """It kept its rule, and changes for the balance."""


class _Lookups(Struct, frozen=True):
    """What a plan looks up of each topic and broker."""

    aligned: Alignment
    settings: Mapping[str, TopicSettings]
    nameable: frozenset[BrokerId]
    listed: Mapping[str, Mapping[BrokerId, LeaderBlacklist]]
    """Of each topic, the brokers that the leader blacklist keeps from leading it."""
    drained: Mapping[BrokerId, ReplicaBlacklist]
    last: Mapping[BrokerId, int]
    """The brokers that `lastLeaders` names."""
    racks: Mapping[BrokerId, str | None]
    """Of all registered brokers."""


def _lookups(differs: Differences, aligned: Alignment, nameable: frozenset[BrokerId]) -> _Lookups:
    placement, snapshot = aligned.placement, aligned.snapshot
    topics = topics_of(differs.table)[0].to_pylist()
    entries = sorted(in_force(placement, snapshot), key=lambda e: (e.broker, e.where), reverse=True)
    return _Lookups(
        aligned,
        snapshot.all_settings(),
        nameable,
        {t: {e.broker: e for e in entries if blacklist_reaches(e, t)} for t in topics},
        {e.broker: e for e in placement.replica_blacklist},
        last_leaders(placement, snapshot),
        snapshot.racks,
    )


def _reason(difference: _Difference, state: PartitionState, lookups: _Lookups) -> MoveReason:
    """Why it moves; both reasons where a list has other members and something else asks for its order."""
    order = _order(difference, state, lookups)
    if difference.kind is DifferenceKind.REPLICAS:
        return replace(_replicas(difference, state, lookups), order=order)
    return order or _plain(difference, state, lookups)


def _replicas(difference: _Difference, state: PartitionState, lookups: _Lookups) -> MoveReason:
    """What asks for other members: a drain, an explicit list, the balance, a rule; the strongest that is meant."""
    leaving = sorted(set(state.replicas) - set(difference.wanted))
    drained = [lookups.drained[b] for b in leaving if b in lookups.drained]
    if drained:
        return _entry(ReasonKind.DRAIN, drained[0])
    if difference.explicit:
        return MoveReason(ReasonKind.DECLARED)
    if difference.balanced:
        return MoveReason(ReasonKind.BALANCE)
    rule = lookups.aligned.intents.rules.get(state.partition.topic)
    if rule is None:
        return MoveReason(ReasonKind.GIVEN_UP)
    key = rule.key_not_kept(state.replicas, lookups.racks)
    return MoveReason(ReasonKind.RULE, rule=rule.pattern, key=key)


def _order(difference: _Difference, state: PartitionState, lookups: _Lookups) -> MoveReason | None:
    """What an overlay asks for, if one is meant: the leader blacklist, a preferred leader."""
    topic = state.partition.topic
    entries = lookups.listed[topic]
    lifted = _lifted(difference, state, lookups)
    if lifted:
        return MoveReason(ReasonKind.BLACKLIST_LIFTED, lifted[0])
    replaced = difference.kind is DifferenceKind.REPLICAS
    brokers = difference.wanted if replaced else (state.leader, *state.replicas)
    listed = [entries[b] for b in brokers if b is not None and b in entries]
    led = difference.kind is DifferenceKind.LEADER and state.leader in entries
    if listed and (difference.demoted or led):
        return _entry(ReasonKind.LEADER_BLACKLIST, listed[0])
    first = difference.wanted[0]
    last = _led_last(difference, state, lookups)
    if last is not None:
        return MoveReason(ReasonKind.LAST_LEADER, broker=last)
    preferred = lookups.aligned.placement.preferred_leaders.get(state.partition)
    if preferred is not None and preferred.broker == first:
        return MoveReason(ReasonKind.PREFERRED_LEADER, broker=first)
    rule = lookups.aligned.intents.leaders.get(topic)
    if rule is not None and first != state.replicas[0]:
        return MoveReason(ReasonKind.PREFERRED_LEADER, broker=first, rule=rule.pattern)
    return None


def _led_last(difference: _Difference, state: PartitionState, lookups: _Lookups) -> BrokerId | None:
    """A broker of `lastLeaders` that leads, or stands before another that is not to stand behind it."""
    last = lookups.last
    if difference.kind is DifferenceKind.LEADER:
        return state.leader if state.leader in last else None
    kept = [b for b in state.replicas if b in difference.wanted]
    wanted = [b for b in difference.wanted if b in kept]
    for was, now in zip(kept, wanted, strict=True):
        if was != now:
            return was if last.get(was, 0) > last.get(now, 0) else None
    return None


def _lifted(difference: _Difference, state: PartitionState, lookups: _Lookups) -> Replicas:
    """Brokers that an earlier blacklist kept from leading, and that come back to their place."""
    kept = lookups.aligned.snapshot.remembered.get(state.partition)
    speaks = lookups.aligned.placement.leader_blacklist is not None
    if difference.explicit or kept is None or kept.left or kept.recovered or not speaks:
        return ()
    if not set(kept.order) == set(difference.wanted) == set(state.replicas):
        return ()
    forward = demoted(kept.order, state.replicas) & behind(difference.wanted, state.replicas)
    entries = lookups.listed[state.partition.topic]
    return tuple(b for b in difference.wanted if b in forward and b not in entries)


def _plain(difference: _Difference, state: PartitionState, lookups: _Lookups) -> MoveReason:
    if difference.kind is DifferenceKind.LEADER:
        return MoveReason(ReasonKind.LEADER, leader=state.leader, broker=difference.wanted[0])
    if difference.balanced and difference.wanted[0] != state.replicas[0]:
        return MoveReason(ReasonKind.BALANCE)
    rule = lookups.aligned.intents.leaders.get(state.partition.topic)
    if rule is not None and rule.racks:
        return MoveReason(ReasonKind.ORDER, rule=rule.pattern)
    return MoveReason(ReasonKind.ORDER if difference.explicit else ReasonKind.REMEMBERED_ORDER)


def _entry(kind: ReasonKind, entry: LeaderBlacklist | ReplicaBlacklist) -> MoveReason:
    """What an entry of a blacklist says of itself, each on one line."""
    note, owner = (" ".join((text or "").split()) or None for text in (entry.reason, entry.owner))
    return MoveReason(kind, entry.broker, note=note, owner=owner, review_by=entry.review_by)
