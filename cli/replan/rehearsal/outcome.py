"""What a report is made from: the run itself, further runs with random faults, and what all of them assume."""

import math
from collections import Counter
from collections.abc import Mapping
from statistics import median

from msgspec import Struct

from replan.errors import Exit
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.plans.reasons import Refusal
from replan.rehearsal.options import Options
from replan.rehearsal.result import Distribution, Rehearsal


class RandomRun(Struct, frozen=True):
    """One run with faults drawn from a seed."""

    seed: int
    rehearsal: Rehearsal


class Report(Struct, frozen=True):
    """A rehearsal as a whole."""

    plan_digest: str
    cluster_id: str
    options: Options
    rehearsal: Rehearsal
    runs: tuple[RandomRun, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    """What the plan leaves out."""
    cluster_name: str | None = None

    @property
    def completes(self) -> bool:
        """Whether every run completed, and no invariant was broken on the way."""
        return all(r.completed and not r.broken for r in self._all)

    @property
    def exit_code(self) -> Exit:
        """The worst with which `apply` would end; 3 too for a run that had no end, or broke an invariant."""
        codes = {Exit.REFUSED if r.broken else r.exit_code for r in self._all}
        if codes <= {Exit.OK, Exit.HELD}:
            return max(codes)
        return Exit.REFUSED

    @property
    def _all(self) -> tuple[Rehearsal, ...]:
        return (self.rehearsal, *(c.rehearsal for c in self.runs))

    @property
    def seconds(self) -> Distribution:
        """How long the runs took."""
        return distribution_of([c.rehearsal.seconds for c in self.runs])

    @property
    def headrooms(self) -> Mapping[int, int]:
        """How many runs had which smallest ISR headroom, the smallest first."""
        smallest = (c.rehearsal.smallest_headroom for c in self.runs)
        replicas = (headroom.replicas for headroom in smallest if headroom is not None)
        return dict(sorted(Counter(replicas).items()))

    @property
    def under(self) -> tuple[RandomRun, ...]:
        """The runs in which a partition of the plan came under its min ISR."""
        return tuple(c for c in self.runs if c.rehearsal.harm.under_min_isr_seconds > 0)

    @property
    def worst(self) -> RandomRun | None:
        """The run to look at first: a broken invariant, then what does not complete, then what suffers most."""
        return max(self.runs, key=_badness, default=None)


def report_on(
    plan: Plan, options: Options, rehearsal: Rehearsal, runs: tuple[RandomRun, ...] = ()
) -> Report:
    """Put a report together."""
    return Report(
        digest(plan), plan.cluster_id, options, rehearsal, runs, plan.refusals, plan.cluster_name
    )


def _badness(run: RandomRun) -> tuple[float, ...]:
    """What makes one run worse than another, the weightiest first; of equals the first seed is kept."""
    rehearsal = run.rehearsal
    headroom = 0 if rehearsal.smallest_headroom is None else rehearsal.smallest_headroom.replicas
    under = rehearsal.harm.under_min_isr_seconds
    return (
        len(rehearsal.broken),
        not rehearsal.completed,
        -min(headroom, 0),
        under,
        rehearsal.seconds,
    )


def distribution_of(values: list[float]) -> Distribution:
    """How values are distributed; all 0 where there are none."""
    if not values:
        return Distribution(0.0, 0.0, 0.0, 0.0)
    ranked = sorted(values)
    p90 = ranked[math.ceil(0.9 * len(ranked)) - 1]
    return Distribution(ranked[0], median(ranked), p90, ranked[-1])
