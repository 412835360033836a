"""Sentences of what was noticed while a plan was applied: other tools on throttles, readings too far apart."""

from replan.applying.journal.records import Verb
from replan.applying.reasons.notes import (
    ArrivedLate,
    EntriesRemoved,
    ListsLeft,
    Note,
    Obeyed,
    RateChanged,
    RateGivesWay,
    RateKept,
    RateLowered,
    RateRefused,
    RateRemoved,
    RateUnused,
    ReadingsApart,
    SlowerAlready,
)
from replan.model.declared.placement import LARGEST_RATE, SMALLEST_RATE
from replan.reporting.quantities import brokers, rate
from replan.wording import capped


def note_text(note: Note | str) -> str:  # noqa: PLR0911  # one for each kind
    """What was noticed, and what was done about it."""
    match note:
        case str():
            return note
        case EntriesRemoved() | RateRemoved():
            return _removed(note)
        case RateChanged(broker, config, found):
            return (
                f"{config} of broker {broker} was changed to {found} B/s by another tool; "
                "it is left alone, copies go at that rate"
            )
        case SlowerAlready() | RateLowered():
            return _of_another_tool(note)
        case RateKept() | RateGivesWay() | RateUnused():
            return _not_in_force(note)
        case Obeyed() | RateRefused():
            return _sent(note)
        case ListsLeft(partitions):
            names = ", ".join(capped(list(map(str, partitions)), limit=20))
            return (
                f"with more replicas than before, as their moves had begun to add some: {names}; the next plan makes "
                "them as they were, or as the placement declares them"
            )
        case ArrivedLate(partition, listed):
            return (
                f"{partition}: {list(listed)} runs there after it was done, as an earlier request wanted; "
                "it is taken back, unless its topic was made again"
            )
        case ReadingsApart(seconds, silent):
            why = f"; silent: {brokers(silent)}" if silent else ""
            return (
                f"readings of the cluster were {seconds:.0f} s apart{why}; "
                "confirming that replicas stay in sync takes longer"
            )


def _removed(note: EntriesRemoved | RateRemoved) -> str:
    if isinstance(note, RateRemoved):
        what = f"{note.config} of broker {note.broker}: another tool removed it"
    else:
        named = ",".join(note.entries)
        what = f"{note.config} of topic {note.topic}: another tool removed {named}"
    return f"{what}; {_set(again=note.again)}"


def _set(*, again: bool) -> str:
    if again:
        return "for the second time: no more copies are started until you rerun to resume"
    return "set again, this once"


def _sent(note: Obeyed | RateRefused) -> str:
    if isinstance(note, RateRefused):
        named = ", ".join(f"{found} B/s" for found in note.rates)
        limits = f"{SMALLEST_RATE} to {LARGEST_RATE} B/s, or unlimited"
        return f"throttle {named}, by {note.sender or 'unknown'}: not obeyed; a rate is {limits}"
    to = ""
    if note.verb is Verb.THROTTLE:
        to = f" {rate(int(note.rate) if note.rate.isdigit() else None)}"
    if note.others is not None:
        to += ", other tools' reassignments, too" if note.others else ", replan's own copies only"
    return f"{note.verb}{to}, by {note.sender or 'unknown'}"


def _of_another_tool(note: SlowerAlready | RateLowered) -> str:
    of = f"{note.config} of broker {note.broker}"
    if isinstance(note, SlowerAlready):
        set_by = f"is {rate(note.found)}, set by another tool"
        return f"{of} {set_by}, and lower than the {rate(note.rate)} asked for; it is left alone"
    set_by = f"was {rate(note.before)}, set by another tool"
    return f"{of} {set_by}; lowered to {rate(note.rate)}, and restored at the end"


def _not_in_force(note: RateKept | RateGivesWay | RateUnused) -> str:
    if isinstance(note, RateUnused):
        to = "removed" if note.before is None else f"set back to {note.before} B/s"
        return (
            f"{note.config} of broker {note.broker} is still replan's, and no broker of that id is registered: if one "
            f"is again, it is {to} by the next application or `replan throttle clear`"
        )
    if isinstance(note, RateGivesWay):
        return (
            f"{note.config} of broker {note.broker}: lifted while {note.partition} catches up, "
            "which an entry that is not of these copies would hold at this rate"
        )
    now = "removed" if note.found is None else f"changed to {note.found} B/s"
    before = "it was not set" if note.before is None else f"it was {note.before} B/s"
    return (
        f"{note.config} of broker {note.broker} was {now} by another tool; "
        f"it is left as it is (before this application {before})"
    )
