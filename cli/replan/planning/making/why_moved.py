"""Why a partition moves: the drain, list, rule, balance or overlay that asks for it, out of all that could."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from replan.model.configs import TopicSettings
from replan.model.declared.placement import LeaderBlacklist
from replan.model.declared.rules import ReplicaBlacklist
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.comparison.remembered import behind, demoted
from replan.planning.plans.moves import MoveReason, ReasonKind


class MoveWanted(Struct, frozen=True):
    """What a move is to remove, with all that its reason and its requests need to know."""

    kind: DifferenceKind
    wanted: Replicas
    explicit: bool
    demoted: bool
    """The leader blacklist changed the list."""
    remember: bool
    ordered: bool
    """Its order is declared, or changed by the leader blacklist; otherwise its set alone."""
    led: bool
    """The first of its list is wanted as leader now."""
    balanced: bool
    """It kept its rule, and changes for the balance."""


class Lookups(Struct, frozen=True):
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


def reason_of(difference: MoveWanted, state: PartitionState, lookups: Lookups) -> MoveReason:
    """Why it moves; both reasons where a list has other members and something else asks for its order."""
    order = _order(difference, state, lookups)
    if difference.kind is DifferenceKind.REPLICAS:
        return replace(_replicas(difference, state, lookups), order=order)
    return order or _plain(difference, state, lookups)


def _replicas(difference: MoveWanted, state: PartitionState, lookups: Lookups) -> MoveReason:
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


def _order(difference: MoveWanted, state: PartitionState, lookups: Lookups) -> MoveReason | None:
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


def _led_last(difference: MoveWanted, state: PartitionState, lookups: Lookups) -> BrokerId | None:
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


def _lifted(difference: MoveWanted, state: PartitionState, lookups: Lookups) -> Replicas:
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


def _plain(difference: MoveWanted, state: PartitionState, lookups: Lookups) -> MoveReason:
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
