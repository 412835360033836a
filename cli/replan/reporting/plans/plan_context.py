"""What is known beside a plan where it is shown: the cluster it was made from and what a rehearsal found."""

from collections.abc import Sequence
from dataclasses import dataclass

from replan.model.declared.policy import Prices
from replan.model.snapshot import OwnApplication, Snapshot
from replan.planning.plans.plan import Plan
from replan.reporting.sentences.price_text import price_lines
from replan.wording import count


@dataclass(frozen=True, slots=True)
class PlanContext:
    """All of it may be missing: a saved plan is shown without a cluster."""

    snapshot: Snapshot | None = None
    age_seconds: float | None = None
    """How old the snapshot was when the plan was made from it; None where the cluster itself was asked."""
    rehearsed: Sequence[str] = ()
    """What a rehearsal found, in sentences."""
    timeline: str = ""
    """The picture of that rehearsal, as SVG."""
    network: float | None = None
    """Bytes per second and direction that were assumed where a side of a broker has no throttle; None: nothing was."""
    prices: Prices | None = None
    next_command: str = ""
    """What to type to apply the plan."""

    @property
    def sizes_known(self) -> bool:
        """Whether every live broker said what its log directories hold, so that 0 bytes are an empty partition."""
        return self.snapshot is not None and not self.snapshot.silent

    @property
    def notes(self) -> Sequence[str]:
        """What to know of where it was planned from, in sentences."""
        own = None if self.snapshot is None else self.snapshot.application
        return () if own is None or self.age_seconds is None else (own_text(own),)

    def findings(self, plan: Plan) -> Sequence[str]:
        """What the rehearsal found, and what copies and storage cost."""
        return [*self.rehearsed, *price_lines(plan, self.prices)]


NOTHING_BESIDE = PlanContext()


def own_text(own: OwnApplication) -> str:
    """What a snapshot says of the application that was open when it was taken."""
    state = "at work" if own.at_work else "interrupted"
    return (
        f"replan's application {own.id} of {own.owner} was open ({state}) when the snapshot was taken: "
        f"{count(len(own.targets), 'partition')} that it moves count as what it makes of them"
    )
