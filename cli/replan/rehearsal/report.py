"""What is told of a rehearsal: the run itself, further runs with faults by chance, and what all of them assume."""

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
    def margins(self) -> Spread:
        """The lowest margins of the runs."""
        return spread([float(c.rehearsal.lowest.margin) for c in self.runs if c.rehearsal.lowest])


def report_on(
    plan: Plan, options: Options, rehearsal: Rehearsal, runs: tuple[Chanced, ...] = ()
) -> Report:
    """Put a report together."""
    return Report(digest(plan), plan.cluster_id, options, rehearsal, runs)


def spread(values: list[float]) -> Spread:
    """Smallest, middle and largest; all 0 where there are none."""
    return Spread(min(values), median(values), max(values)) if values else Spread(0.0, 0.0, 0.0)
