"""What one tick is decided from, apart from the state of the run: the job, one look at the cluster, and the time."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from replan.applying.journal.records import Command
from replan.applying.observation import Observation
from replan.applying.settings import Settings
from replan.model.names import TopicPartition
from replan.model.replica_logs import LogsFound
from replan.planning.plans.creates import Create
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.recovery.recovery import Recovery

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Job:
    """What never changes while a plan is performed."""

    plan: Plan
    settings: Settings
    moves: Mapping[TopicPartition, Move]
    """The plan's moves by partition."""
    places: Mapping[TopicPartition, int]
    """Where each stands in the plan."""
    creates: Mapping[str, Create]
    """The plan's creates by topic."""
    recoveries: Mapping[TopicPartition, Recovery] = field(default_factory=dict)
    """The plan's recoveries by partition."""

    @classmethod
    def of(cls, plan: Plan, settings: Settings) -> "Job":
        """The job of performing a plan."""
        return cls(
            plan,
            settings,
            {m.partition: m for m in plan.moves},
            {m.partition: place for place, m in enumerate(plan.moves)},
            {c.topic: c for c in plan.creates},
            {r.partition: r for r in plan.recoveries},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TickInput:
    """One tick's input."""

    job: Job
    seen: Observation
    now: float
    """When the look began, in seconds of the application's clock: what it shows is no older than this."""
    ended: float
    """When it ended: what it shows may be as young as this."""
    candidates: tuple[TopicPartition, ...] = ()
    """Waiting moves to look at, in plan order."""
    admitting: bool = True
    """False when the application is to stop: nothing new begins, what runs goes on by itself."""
    logs: Mapping[TopicPartition, LogsFound] = field(default_factory=dict)
    """What replicas said of their logs in this tick, of recoveries that something may be asked for."""
    commands: tuple[Command, ...] = ()
    """What has arrived for the open application, in the order in which it was sent."""
    moment: str = ""
    """The date and time, for people who read the journal; nothing is decided by it."""
    overslept: float = 0.0
    """Seconds that the pause before it was longer than wanted: a rehearsal skips time in which nothing happens."""

    def agreed(self, suspected: Mapping[K, float], suspicion: K, *, listed: bool) -> bool:
        """Whether looks have agreed on a suspicion for long enough to conclude; `suspected`: since when.

        `listed`: it rests on what the controller lists, which is never old, or concludes nothing but another request.
        All else rests on what brokers show, and ends a partition: it must have been shown for longer than metadata lag.
        """
        needed = self.settings.agreeing_seconds if listed else self.settings.ending_seconds
        return suspected.get(suspicion, self.ended) <= self.now - needed

    @property
    def settings(self) -> Settings:
        """The numbers of the job."""
        return self.job.settings
