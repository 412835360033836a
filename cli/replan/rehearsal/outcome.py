"""What is told of a rehearsal: the run itself, further runs with faults by chance, and what all of them assume."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from replan.planning.plan import Plan
from replan.planning.plan_file import digest
from replan.rehearsal.options import Options
from replan.rehearsal.result import Rehearsal, Spread


@dataclass(frozen=True, slots=True)
class Chanced:
    """One run with faults drawn from a seed."""

    seed: int
    rehearsal: Rehearsal


@dataclass(frozen=True, slots=True)
class Report:
    """A rehearsal as a whole."""

    plan_digest: str
    cluster_id: str
    options: Options
    rehearsal: Rehearsal
    runs: tuple[Chanced, ...] = ()

    @property
    def arrives(self) -> bool:
        """Whether every run arrived, and no law was broken on the way."""
        all_runs = (self.rehearsal, *(c.rehearsal for c in self.runs))
        return all(r.arrived and not r.broken for r in all_runs)

    @property
    def seconds(self) -> Spread:
        """How long the runs took."""
        return spread([c.rehearsal.seconds for c in self.runs])

    @property
    def margins(self) -> Mapping[int, int]:
        """How many runs had which lowest margin, the lowest first."""
        found = (c.rehearsal.lowest.margin for c in self.runs if c.rehearsal.lowest)
        return dict(sorted(Counter(found).items()))

    @property
    def under(self) -> tuple[Chanced, ...]:
        """The runs in which a partition of the plan came under its min ISR."""
        return tuple(c for c in self.runs if c.rehearsal.harm.under_min_isr_seconds > 0)

    @property
    def worst(self) -> Chanced | None:
        """The run that one would look at first: a broken law, then what does not arrive, then what suffers most."""
        return max(self.runs, key=_badness, default=None)


def report_on(
    plan: Plan, options: Options, rehearsal: Rehearsal, runs: tuple[Chanced, ...] = ()
) -> Report:
    """Put a report together."""
    return Report(digest(plan), plan.cluster_id, options, rehearsal, runs)


def _badness(chanced: Chanced) -> tuple[float, ...]:
    """What makes one run worse than another, the weightiest first; of equals the first seed is kept."""
    found = chanced.rehearsal
    margin = 0 if found.lowest is None else found.lowest.margin
    under = found.harm.under_min_isr_seconds
    return len(found.broken), not found.arrived, -min(margin, 0), under, found.seconds


def spread(values: list[float]) -> Spread:
    """How values are distributed; all 0 where there are none."""
    if not values:
        return Spread(0.0, 0.0, 0.0, 0.0)
    ranked = sorted(values)
    p90 = ranked[math.ceil(0.9 * len(ranked)) - 1]
    return Spread(ranked[0], median(ranked), p90, ranked[-1])
