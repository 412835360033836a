"""Sentences of why a partition without a leader waits, or how its recovery has ended."""

from replan.applying.reasons.recovery import (
    EvidenceChanged,
    LeaderlessTooShort,
    LedAgain,
    LedByAnother,
    LogsSilent,
    RecoveryArrivalPossible,
    RecoveryUnseen,
    RecoveryWait,
)
from replan.reporting.quantities import duration
from replan.wording import listed


def wait_text(reason: RecoveryWait) -> str:
    """Why a recovery waits."""
    match reason:
        case LeaderlessTooShort(wait, left):
            return (
                f"no leader; recovered once that has lasted for {duration(wait)}, in {left:.0f} s"
            )
        case LogsSilent(silent):
            one = f"broker {silent[0]} does not say what its log holds"
            several = f"brokers {listed(silent)} do not say what their logs hold"
            return (
                f"{one if len(silent) == 1 else several}, and the plan rests on that; wait until that is answered, "
                "or plan again"
            )
        case RecoveryUnseen(step):
            return f"{step} shows no effect yet; rechecking"
        case RecoveryArrivalPossible():
            return _arrival(reason)


def _arrival(reason: RecoveryArrivalPossible) -> str:
    ahead = f"watching for {reason.seconds:.0f} s more"
    if reason.better and not reason.led:
        one = len(reason.better) == 1
        return (
            f"the log{'' if one else 's'} of {listed(reason.better)} {'is' if one else 'are'} better than that of "
            f"{reason.chosen}, but the unclean election of {reason.chosen} was asked for and may still arrive, which "
            f"cuts what {reason.chosen} lacks; stop broker {reason.chosen} until this has ended to prevent it; {ahead}"
        )
    led = "led again" if reason.led else "no leader"
    return f"{led}; the outcome of an earlier request is unknown and it may still arrive; {ahead}"


def end_text(reason: LedAgain | LedByAnother | EvidenceChanged) -> str:
    """How a recovery ended, and what to do where it has another leader than was chosen."""
    match reason:
        case LedAgain(leader, stated, measured):
            lost = "could not be measured" if measured is None else f"{measured:,}"
            return (
                f"led again by {leader}; records lost: stated at least {stated:,}, measured {lost}"
            )
        case LedByAnother(leader, chosen):
            return (
                f"broker {leader} leads it, not {chosen}; make a new plan where that is not wanted"
            )
        case EvidenceChanged(broker, planned, found):
            before = "nothing was known of it" if planned is None else _rank(planned)
            found_text = f"{before}, found {_rank(found)}"
            return f"the log of broker {broker} is not as planned: {found_text}; make a new plan"


def _rank(rank: tuple[int, int]) -> str:
    return f"last epoch {rank[0]}, end {rank[1]:,}"
