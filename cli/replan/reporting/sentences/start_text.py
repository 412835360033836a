"""Sentences of why a partition has not begun: what it lacks, the limit, and the way out."""

from replan.applying.reasons.gates import (
    CoordinatorLoads,
    NewBrokerCordoned,
    NewBrokerFenced,
    NoRoom,
    NoSlot,
    SettingFirst,
    ThrottleContested,
    TopicReassigned,
    UncleanElectionPossible,
    WritesWouldStop,
)
from replan.applying.reasons.requests import ReplicaUnread
from replan.model.names import Replicas
from replan.wording import capped, listed


def start_text(
    reason: NewBrokerFenced
    | NewBrokerCordoned
    | WritesWouldStop
    | UncleanElectionPossible
    | NoRoom
    | NoSlot
    | TopicReassigned
    | ThrottleContested
    | SettingFirst
    | ReplicaUnread
    | CoordinatorLoads,
) -> str:
    """What it waits for before it begins."""
    match reason:
        case (
            NewBrokerFenced()
            | NewBrokerCordoned()
            | WritesWouldStop()
            | UncleanElectionPossible()
            | CoordinatorLoads()
        ):
            return _gate(reason)
        case _:
            return _shared(reason)


def _gate(
    reason: NewBrokerFenced
    | NewBrokerCordoned
    | WritesWouldStop
    | UncleanElectionPossible
    | CoordinatorLoads,
) -> str:
    match reason:
        case CoordinatorLoads(broker):
            return (
                f"broker {broker} is to lead it, and has just begun to lead another partition of an internal topic: "
                "its groups and transactions come first"
            )
        case NewBrokerFenced(broker):
            return f"broker {broker} is to receive a replica and is fenced; start it"
        case NewBrokerCordoned(broker):
            return (
                f"broker {broker} is to receive a replica and all its log directories are cordoned; "
                "uncordon it, or plan without it"
            )
        case WritesWouldStop(in_sync, m, needed):
            return (
                f"in sync and live: {list(in_sync)}; with min.insync.replicas {m} at least {needed} are needed before "
                "replicas are added, or writes stop for the whole copy; bring the others back first"
            )
        case UncleanElectionPossible(topic, in_sync):
            return _unclean(topic, in_sync)


def _unclean(topic: str, in_sync: Replicas) -> str:
    few = len(in_sync) < 2
    why = f"and only {list(in_sync)} is in sync" if few else "and was false when planned"
    return (
        f"unclean.leader.election.enable is true {why}: an empty new replica could be elected; run "
        f"`kafka-configs.sh --alter --entity-type topics --entity-name {topic} "
        "--add-config unclean.leader.election.enable=false` first"
        f"{', or bring another replica back' if few else ''}"
    )


def _shared(
    reason: NoRoom | NoSlot | TopicReassigned | ThrottleContested | SettingFirst | ReplicaUnread,
) -> str:
    match reason:
        case ReplicaUnread(broker):
            return f"broker {broker} does not say where its replicas lie; waiting until it does"
        case SettingFirst(setting):
            return f"waiting until {setting} is set"
        case NoRoom():
            also = (
                f", {reason.promised} of them promised to other copies" if reason.promised else ""
            )
            return (
                f"broker {reason.broker} has no room: {reason.size} bytes to {reason.path} (the directory with the "
                f"fewest logs), {reason.usable} usable{also}, {reason.kept_free} must stay free; make room there"
            )
        case NoSlot():
            return _no_slot(reason)
        case TopicReassigned(partitions):
            named = listed(partitions[:3])
            return (
                f"another tool reassigns {named}; a cluster before 4.1 cannot guard a reorder against that; "
                "waiting for that to end"
            )
        case ThrottleContested(places):
            named = "; ".join(
                f"{'topic' if isinstance(place, str) else 'broker'} {place}: {key}"
                for place, key in places
            )
            return f"another tool removed a throttle twice ({named}); find out which, then rerun to resume"


def _no_slot(reason: NoSlot) -> str:
    limit = f"`--slots {reason.limit}`"
    if reason.limit < reason.usual:
        limit = f"{reason.limit}, not {reason.usual}: in-sync replicas were lost"
    named = listed(capped(list(map(str, reason.others)), limit=3))
    others = f"; other tools reassign {named}" if reason.others else ""
    return f"broker {reason.broker} is at its limit ({limit}){others}"
