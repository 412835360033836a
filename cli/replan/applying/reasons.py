"""What is said about a partition that waits or was rejected: measure, limit, way out."""

from collections.abc import Collection, Iterable

from replan.applying.observation.look import Observation
from replan.model.control_plane import Rejected
from replan.model.names import BrokerId
from replan.planning.next_request import Wait
from replan.planning.requests import RequestKind


def waits(needed: Wait, seen: Observation, logless: Collection[BrokerId] = ()) -> str:
    """What a partition waits for; `logless`: brokers that show no log of it."""
    if needed.leaderless:
        return "no leader; bring back one of its in-sync replicas"
    if needed.settling:
        return "in sync; waiting whether it stays so"
    missing = sorted(needed.missing)
    dead = [b for b in missing if not seen.live(b)]
    named = ", ".join(str(b) for b in missing)
    dumb = [b for b in missing if b in logless and b not in dead]
    why = [f"fenced: {_list(dead)}"] if dead else []
    if dumb:
        why.append(f"no log of it on {_list(dumb)}: look at the disks there, and start it again")
    verb = "is" if len(missing) == 1 else "are"
    return "; ".join((f"waiting until {named} {verb} in sync", *why))


def _list(brokers: Iterable[BrokerId]) -> str:
    return ", ".join(map(str, brokers))


def unseen(kind: RequestKind, rejection: Rejected | None) -> str:
    """Why a request is not asked again at once although it shows no effect."""
    if rejection is not None:
        return f"{kind}: Kafka answered {rejection.code} {rejection.name}; looking again"
    return f"{kind} was accepted and is not seen yet"


def advice(code: int) -> str:
    """What to do about a rejection."""
    match code:
        case 29 | 31:
            return "The principal needs the operation ALTER on the cluster; grant it, then run the same command again."
        case 38:
            return (
                "Somebody else changes its number of replicas; let that end, then make a new plan."
            )
        case 39:
            return (
                "A broker in the list is not registered, or all its log directories are cordoned; "
                "bring it back, uncordon it, or declare another one."
            )
        case 44:
            return "A policy of this cluster forbids it; ask those who run it."
        case 60:
            return "Another reassignment runs on it; let it end, then make a new plan."
        case _:
            return "Make a new plan; if it is rejected again, the log of the active controller says why."
