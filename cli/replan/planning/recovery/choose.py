"""Who is to lead a partition without a leader, or why nobody is chosen. Pure.

1. A live member of the ISR or the ELR has every acknowledged record. It leads, cleanly, whatever the method.
2. A better replica may return: one that is not known now, and may have been in sync last. Those are the members of the
   ISR, of the ELR and the last known leaders; where Kafka knows none of them, every replica that did not answer.
   Unless each of them is given up by name, nobody is chosen; `aggressive` does not ask.
3. Else the method chooses among the live replicas whose logs are known. Silence is never taken for an empty log.

Where a reassignment runs, its list stays: another one could not be cancelled to what was before. So the chosen one has
to be whom Kafka elects by that list, and a replica that is being added, which may be empty, is never chosen.
"""

from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct

from replan.model.names import BrokerId, led_by
from replan.model.partition import PartitionState
from replan.planning.recovery.candidates import Candidate, best_candidate, loss
from replan.planning.recovery.recovery import Recovery, RecoveryMethod


class RecoveryObstacle(StrEnum):
    """Why nobody is chosen; each is the refusal of its name."""

    RECOVERY_REASSIGNED = "recovery-reassigned"
    """A reassignment runs on it, by whose list Kafka would elect another replica than the chosen one."""
    BETTER_MAY_RETURN = "better-may-return"
    NO_LOG_KNOWN = "no-log-known"
    """No live replica says what it has."""
    NO_SUCH_REPLICA = "no-such-replica"
    """The one that was named is no replica of it."""
    CHOSEN_NOT_LIVE = "chosen-not-live"
    """The one that was named is not live."""
    CHOSEN_UNKNOWN = "chosen-unknown"
    """The one that was named, or that Kafka would elect, does not say what it has."""


class Unrecoverable(Struct, frozen=True):
    """Nobody is chosen, and which brokers that is about."""

    obstacle: RecoveryObstacle
    brokers: tuple[BrokerId, ...] = ()


class RecoveryWish(Struct, frozen=True):
    """What a person or a placement wants for a partition."""

    method: RecoveryMethod
    desired: BrokerId | None = None
    """Of DESIGNATED."""
    given_up: frozenset[BrokerId] = frozenset()
    wait_seconds: int = 0


def chosen_recovery(
    state: PartitionState,
    ranked: tuple[Candidate, ...],
    wish: RecoveryWish,
) -> Recovery | Unrecoverable:
    """Who is to lead a partition that has no leader."""
    if wish.desired is not None and wish.desired not in state.replicas:
        return Unrecoverable(RecoveryObstacle.NO_SUCH_REPLICA, (wish.desired,))
    outcome = _led_again(state, ranked, wish)
    if isinstance(outcome, Unrecoverable) or state.running is None:
        return outcome
    first = _elected(ranked, clean=outcome.clean)
    return (
        outcome
        if first == outcome.chosen
        else Unrecoverable(RecoveryObstacle.RECOVERY_REASSIGNED, (first,))
    )


def _elected(ranked: tuple[Candidate, ...], *, clean: bool) -> BrokerId:
    """Whom Kafka elects by the list as it is."""
    return next(c.broker for c in ranked if c.alive and (c.eligible or not clean))


def _led_again(
    state: PartitionState, ranked: tuple[Candidate, ...], wish: RecoveryWish
) -> Recovery | Unrecoverable:
    """Who is to lead, whatever the list says."""
    clean = [c.broker for c in ranked if c.eligible and c.alive]
    if wish.desired is not None and wish.desired in clean:
        return _recovery(state, ranked, wish, wish.desired, clean=True)
    if clean and wish.method is not RecoveryMethod.DESIGNATED:
        return _recovery(state, ranked, wish, clean[0], clean=True)
    missing = may_return(ranked, wish.given_up)
    if missing and wish.method is not RecoveryMethod.AGGRESSIVE:
        return Unrecoverable(RecoveryObstacle.BETTER_MAY_RETURN, missing)
    chosen = _chosen(state, ranked, wish)
    if isinstance(chosen, Unrecoverable):
        return chosen
    return _recovery(state, ranked, wish, chosen.broker, clean=False)


def may_return(
    ranked: tuple[Candidate, ...], given_up: Collection[BrokerId] = ()
) -> tuple[BrokerId, ...]:
    """The replicas that may have a better log, and are neither known nor given up; unregistered ones do not return."""
    last_in_sync = [c for c in ranked if c.eligible or c.last_known_leader]
    return tuple(
        c.broker
        for c in last_in_sync or ranked
        if c.known_log is None and c.registered and c.broker not in given_up
    )


def _chosen(
    state: PartitionState, ranked: tuple[Candidate, ...], wish: RecoveryWish
) -> Candidate | Unrecoverable:
    first = next((c for c in ranked if c.alive), None)
    if first is not None and first.broker in state.adding:
        return Unrecoverable(RecoveryObstacle.RECOVERY_REASSIGNED, (first.broker,))
    match wish.method:
        case RecoveryMethod.DESIGNATED:
            return _designated(ranked, wish.desired)
        case RecoveryMethod.BALANCED | RecoveryMethod.AGGRESSIVE:
            first = best_candidate(c for c in ranked if c.broker not in state.adding)
        case RecoveryMethod.UNCLEAN:
            pass
    if first is None:
        return Unrecoverable(RecoveryObstacle.NO_LOG_KNOWN, tuple(c.broker for c in ranked))
    if first.known_log is None:
        return Unrecoverable(RecoveryObstacle.CHOSEN_UNKNOWN, (first.broker,))
    return first


def _designated(
    ranked: tuple[Candidate, ...], desired: BrokerId | None
) -> Candidate | Unrecoverable:
    named = () if desired is None else (desired,)
    candidate = next(c for c in ranked if c.broker == desired)
    if not candidate.alive:
        return Unrecoverable(RecoveryObstacle.CHOSEN_NOT_LIVE, named)
    return (
        Unrecoverable(RecoveryObstacle.CHOSEN_UNKNOWN, named)
        if candidate.known_log is None
        else candidate
    )


def _recovery(
    state: PartitionState,
    ranked: tuple[Candidate, ...],
    wish: RecoveryWish,
    chosen: BrokerId,
    *,
    clean: bool,
) -> Recovery:
    kept = {c.broker for c in ranked if c.registered}
    return Recovery(
        topic=state.partition.topic,
        number=state.partition.partition,
        topic_id=state.topic_id,
        original=state.replicas,
        order=led_by(chosen, tuple(b for b in state.replicas if b in kept)),
        method=wish.method,
        clean=clean,
        loss=loss(ranked, chosen),
        reassigned=state.running is not None,
        leader_epoch=state.leader_epoch,
        wait_seconds=wish.wait_seconds,
        bytes=state.bytes,
        candidates=ranked,
    )
