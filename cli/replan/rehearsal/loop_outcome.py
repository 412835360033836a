"""What a report of rehearsed weeks is made from: the weeks with the loop, and with doing nothing, summed up."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from msgspec import Struct

from replan.errors import Exit
from replan.model.declared.reconcile import DeviationKind, Reconcile
from replan.reconciling.status import LoopReason, LoopState, LoopStatus, Refused, Round
from replan.rehearsal.options import Options
from replan.rehearsal.reconcile import LoopRun
from replan.rehearsal.result import InjectedFault
from replan.rehearsal.watched import HeldTime, Lasted, Missed

_STUCK = frozenset(
    {
        LoopState.HOLDING,
        LoopState.BACKING_OFF,
        LoopState.PAUSED,
        LoopState.BROKEN_PLACEMENT,
        LoopState.UNREACHABLE,
    }
)
"""States that nobody wants to find the loop in at the end."""


class KindTotal(Struct, frozen=True):
    """All deviations of one kind; times in seconds, those that were left count to the end."""

    kind: DeviationKind | None
    """None: a person acts."""
    found: int
    by_rounds: int
    """Put right by the loop; the others went away by themselves, or were left."""
    left: int
    """Not over at the end."""
    median_seconds: float
    longest_seconds: float


class HeldTotal(Struct, frozen=True):
    """All times in which nothing was done, or nothing more begun, for one kind of reason."""

    why: str
    """As in `is` of a reason in the status."""
    times: int
    seconds: float
    longest_seconds: float
    reason: LoopReason
    """Of the longest."""


class LoopOutcome(Struct, frozen=True):
    """What one run came to; times in seconds from its beginning."""

    seconds: float
    state: LoopState
    """At the end."""
    reasons: tuple[LoopReason, ...]
    kinds: tuple[KindTotal, ...]
    held: tuple[HeldTotal, ...]
    states: Mapping[LoopState, float]
    """Seconds in each."""
    rounds: tuple[Round, ...]
    """In their order; their times are seconds since 1970."""
    began_at: float
    """Since 1970."""
    copied_bytes: int
    """By its rounds."""
    lack: Missed
    """In seconds, summed over all partitions."""
    peaks: Sequence[float]
    """The most partitions that were under-replicated in each of many equal parts of the time."""
    refused: tuple[str, ...]
    """Rules that refuse what differs at the end."""

    @property
    def found(self) -> int:
        """How many deviations there were."""
        return sum(kind.found for kind in self.kinds)

    @property
    def by_rounds(self) -> int:
        """How many of them the loop put right."""
        return sum(kind.by_rounds for kind in self.kinds)


class LoopRehearsal(Struct, frozen=True):
    """Rehearsed weeks as a whole."""

    cluster_id: str
    cluster_name: str | None
    placement_digest: str
    policy: Reconcile
    """Of the first placement."""
    options: Options
    every_seconds: float
    seed: int | None
    """By which faults were drawn."""
    faults: tuple[InjectedFault, ...]
    """And what people did, by their time."""
    acting: LoopOutcome
    idle: LoopOutcome
    """With doing nothing."""

    @property
    def exit_code(self) -> Exit:
        """4 where another party is in the way at the end; 3 where the loop holds, or a rule refuses what is due."""
        if self.acting.state is LoopState.HELD_BY_ANOTHER:
            return Exit.HELD
        stuck = self.acting.state in _STUCK or self.acting.refused
        return Exit.REFUSED if stuck else Exit.OK


def loop_outcome(run: LoopRun) -> LoopOutcome:
    """Sum up a run."""
    watched, end = run.watched, run.watched.before_the_end
    return LoopOutcome(
        seconds=run.seconds,
        state=LoopState.STARTING if end is None else end.state,
        reasons=() if end is None else end.reasons,
        kinds=tuple(_kinds(watched.all_lasted(), run.seconds)),
        held=tuple(_held(watched.holds)),
        states={state: watched.states[state] for state in LoopState if watched.states[state]},
        rounds=tuple(watched.rounds[number] for number in sorted(watched.rounds)),
        began_at=watched.began,
        copied_bytes=run.copied_bytes,
        lack=run.lack,
        peaks=run.peaks,
        refused=() if end is None else tuple(sorted(set(_refused(end)))),
    )


def _refused(end: LoopStatus) -> Iterator[str]:
    return (d.why_not.rule for d in end.deviations if isinstance(d.why_not, Refused))


def _kinds(lasted: Sequence[Lasted], end: float) -> Iterator[KindTotal]:
    of_kind: dict[DeviationKind | None, list[Lasted]] = defaultdict(list)
    for one in lasted:
        of_kind[one.kind].append(one)
    for kind in (*DeviationKind, None):
        if of_this_kind := of_kind.get(kind):
            seconds = [one.seconds(end) for one in of_this_kind]
            yield KindTotal(
                kind,
                len(of_this_kind),
                sum(one.by_round for one in of_this_kind),
                sum(one.until is None for one in of_this_kind),
                median(seconds),
                max(seconds),
            )


def _held(holds: Sequence[HeldTime]) -> Iterator[HeldTotal]:
    """By the kind of reason; what goes on with other measures is one time."""
    spans: dict[str, list[tuple[float, float, LoopReason]]] = defaultdict(list)
    for one in holds:
        for reason in one.reasons:
            of = spans[_name(reason)]
            if of and of[-1][1] == one.since:
                of[-1] = of[-1][0], one.until, reason
            else:
                of.append((one.since, one.until, reason))
    for why, of in spans.items():
        lasting = [until - since for since, until, _ in of]
        longest = max(range(len(of)), key=lambda at: lasting[at])
        yield HeldTotal(why, len(of), sum(lasting), lasting[longest], of[longest][2])


def _name(reason: LoopReason) -> str:
    return str(reason.__struct_config__.tag)
