"""A loop's status as metrics: gauges and counters that are read from the one value, when they are asked for.

Names, labels and what each state is called are an interface: the dashboard and the alert rules of examples/reconcile
use them. Every kind, state and result has a sample, also where it is 0, so that a rule has something to compare.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from replan.model.declared.reconcile import DeviationKind
from replan.reconciling.status import LoopState, LoopStatus, Round, RoundResult, Running

PERSON = "person"
"""The kind of what no policy puts right."""


class Metric(Struct, frozen=True):
    """One metric, with its samples by labels."""

    name: str
    """A counter's without `_total`."""
    help: str
    samples: Iterable[tuple[Mapping[str, str], float]]
    counts: bool = False
    """It only grows, until the process starts again."""


class LoopCounts(Struct):
    """What only grows; kept by whoever observes, since a status tells no more than the last rounds."""

    rounds: dict[RoundResult, int] = field(default_factory=lambda: dict.fromkeys(RoundResult, 0))
    states: dict[LoopState, int] = field(default_factory=lambda: dict.fromkeys(LoopState, 0))
    copied_bytes: int = 0
    moves: int = 0
    notifications_failed: int = 0
    proposals_failed: int = 0
    _last: int = 0
    """The number of the last round that was seen."""
    _works_since: float | None = None
    """When this process was first seen, or last waited for the lease: what ended before is not its own."""
    _state: LoopState | None = None

    def add(self, status: LoopStatus) -> list[Round]:
        """Count what is new in a status; gives the rounds of this process that have ended since the one before."""
        if status.state is not self._state:
            self.states[status.state] += 1
            self._state = status.state
        new = sorted((r for r in status.rounds if r.number > self._last), key=lambda r: r.number)
        self._last = new[-1].number if new else self._last
        since = self._works_since
        if since is None or status.state is LoopState.WAITING_FOR_LEASE:
            self._works_since = status.at
        ended = [] if since is None else [r for r in new if r.ended_at >= since]
        for done in ended:
            self.rounds[done.result] += 1
            self.copied_bytes += done.bytes
            self.moves += done.moves
        return ended


def metrics_of(status: LoopStatus, counts: LoopCounts) -> Iterator[Metric]:
    """All metrics of a loop."""
    yield Metric(
        "replan_reconcile_info",
        "Which loop this is, and by which placement.",
        [(_info(status), 1)],
    )
    yield Metric(
        "replan_reconcile_state",
        "1 for the state that the loop is in, 0 for the others.",
        [({"state": state.value}, float(state is status.state)) for state in LoopState],
    )
    yield Metric(
        "replan_reconcile_state_since_timestamp_seconds",
        "Since when it is in this state.",
        [({}, status.since)],
    )
    yield Metric(
        "replan_reconcile_dry_run", "Whether it only watches.", [({}, float(status.dry_run))]
    )
    yield Metric(
        "replan_reconcile_status_timestamp_seconds",
        "When the status was last written.",
        [({}, status.at)],
    )
    yield Metric(
        "replan_reconcile_interval_seconds",
        "How long it rests between two rounds.",
        [({}, status.every_seconds)],
    )
    if status.looked_at is not None:
        yield Metric(
            "replan_reconcile_last_look_timestamp_seconds",
            "When a round last read placement and cluster.",
            [({}, status.looked_at)],
        )
    yield from _differs(status)
    yield from _running(status.running)
    yield from _counts(status, counts)


def _info(status: LoopStatus) -> dict[str, str]:
    source = status.source
    return {
        "cluster_id": status.cluster_id,
        "cluster_name": status.cluster_name,
        "instance": status.instance,
        "commit": "" if source is None else source.commit,
    }


def _kind(kind: DeviationKind | None) -> str:
    return PERSON if kind is None else kind.value


def _differs(status: LoopStatus) -> Iterator[Metric]:
    tallies = {_kind(tally.kind): tally for tally in status.differs}
    kinds = [*(kind.value for kind in DeviationKind), PERSON]
    yield Metric(
        "replan_reconcile_deviations",
        "How many things are not as declared, by what happened; `person`: no policy puts it right.",
        [({"kind": k}, tallies[k].count if k in tallies else 0) for k in kinds],
    )
    yield Metric(
        "replan_reconcile_deviation_since_timestamp_seconds",
        "Since when the oldest deviation of a kind lasts.",
        [({"kind": k}, tally.since) for k, tally in tallies.items()],
    )
    yield Metric(
        "replan_reconcile_deviation_due_timestamp_seconds",
        "When policy lets the next deviation of a kind be put right.",
        [({"kind": k}, t.due_at) for k, t in tallies.items() if t.due_at is not None],
    )


def _running(running: Running | None) -> Iterator[Metric]:
    steps = (
        {"done": 0, "running": 0, "waiting": 0, "stopped": 0}
        if running is None
        else {
            "done": running.done,
            "running": running.running,
            "waiting": running.waiting,
            "stopped": running.stopped,
        }
    )
    yield Metric(
        "replan_reconcile_application_steps",
        "Steps of the plan that is being applied, by how far they are; 0 while none is.",
        [({"state": state}, number) for state, number in steps.items()],
    )
    yield Metric(
        "replan_reconcile_application_copied_bytes",
        "Bytes that the running application has copied.",
        [({}, 0 if running is None else running.copied_bytes)],
    )
    yield Metric(
        "replan_reconcile_application_total_bytes",
        "Bytes that the running application copies in all.",
        [({}, 0 if running is None else running.total_bytes)],
    )
    yield Metric(
        "replan_reconcile_application_bytes_per_second",
        "The rate of all running copies.",
        [({}, 0 if running is None else running.bytes_per_second)],
    )


def _counts(status: LoopStatus, counts: LoopCounts) -> Iterator[Metric]:
    yield Metric(
        "replan_reconcile_rounds_begun",
        "Rounds that this process began, those at rest among them.",
        [({}, status.rounds_begun)],
        counts=True,
    )
    yield Metric(
        "replan_reconcile_rounds",
        "Rounds that applied a plan, by how they ended.",
        [({"result": result.value}, number) for result, number in counts.rounds.items()],
        counts=True,
    )
    yield Metric(
        "replan_reconcile_state_changes",
        "How often the loop came into each state.",
        [({"state": state.value}, number) for state, number in counts.states.items()],
        counts=True,
    )
    yield Metric(
        "replan_reconcile_moves",
        "Moves of the plans of ended rounds.",
        [({}, counts.moves)],
        counts=True,
    )
    yield Metric(
        "replan_reconcile_copied_bytes",
        "Bytes of the copies of ended rounds, by the sizes of their plans.",
        [({}, counts.copied_bytes)],
        counts=True,
    )
    yield Metric(
        "replan_reconcile_notifications_failed",
        "Messages of --notify that were given up.",
        [({}, counts.notifications_failed)],
        counts=True,
    )
    yield Metric(
        "replan_reconcile_proposals_failed",
        "Proposals that could not be written.",
        [({}, counts.proposals_failed)],
        counts=True,
    )
