"""What a loop remembers beyond one round, and beyond one process: kept in the journal, so that another machine goes on.

Since when each deviation lasts; what was declared when a round last completed; what was moved in the last day; how the
last rounds ended; and the round that is open, so that its application is known as the loop's own. A value.
"""

from collections.abc import Collection, Mapping

import msgspec
from msgspec.structs import replace

from replan.applying.journal.records import Application, LoopCommand, Verb
from replan.model.declared.reconcile import DeviationKind
from replan.reconciling.status import KEPT_ROUNDS, EndedWorse, Round, SomebodyPaused, Value
from replan.wording import DAY_SECONDS

OFTEN = 3
"""A partition that was moved so often within a day is not moved again by itself."""
FIRST_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 3_600.0


class Begun(Value, frozen=True):
    """A round whose application was opened, and is not known to have ended."""

    number: int
    began_at: float
    kinds: tuple[DeviationKind, ...]
    plan_digest: str
    unhealthy: tuple[str, ...]
    """Partitions without a leader or under min ISR when it began."""
    moves: int = 0
    bytes: int = 0
    placement_digest: str = ""
    commit: str = ""
    replaced: tuple[int, ...] = ()
    """Brokers that were down, whose replicas it gives to others."""
    earlier: tuple[str, ...] = ()
    """The applications of the same plan that were there before."""
    cancelled: bool = False
    """Whether it is known to be cancelled, by the loop or by a person, whose cancel has paused the loop."""

    def opened(self, application: Application) -> bool:
        """Whether it is this round's, or takes that back."""
        return application.plan_digest == self.plan_digest or bool(application.takes_back)


class Memory(Value, frozen=True):
    """All of it."""

    since: dict[str, float] = msgspec.field(default_factory=dict)
    """By the key of a deviation: when it was first seen, without a break since."""
    moved: dict[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    """By partition: when rounds of the last day moved it."""
    rounds: tuple[Round, ...] = ()
    """The latest first."""
    number: int = 0
    """Of the last round that did something."""
    failures: int = 0
    """Rounds that failed one after the other."""
    failure: str = ""
    retry_at: float = 0.0
    worse: EndedWorse | None = None
    under: tuple[str, ...] = ()
    """Partitions that came under min ISR while a round was at work, which stopped for them; until they are in sync."""
    paused: SomebodyPaused | None = None
    begun: Begun | None = None
    held: bool = False
    """Whether as many brokers or racks were down as hold, when it last looked."""
    owes: bool = False
    """Whether a throttle of a round is still to be put back, on a broker that was down when it ended."""

    def with_since(self, keys: Mapping[str, float]) -> "Memory":
        """With exactly these deviations; each is as old as it was known to be, or as given."""
        since = {key: min(at, self.since.get(key, at)) for key, at in keys.items()}
        return self if since == self.since else replace(self, since=since)

    def with_hold(self, now: float, *, holds: bool) -> "Memory":
        """Whether as much is down as holds. Once that is over, what is still down counts as down from then on.

        A rack comes back broker by broker: who is not there yet is not replaced for having been away as long as it.
        """
        if holds is self.held:
            return self
        down = DeviationKind.BROKER_DOWN.value
        over = {key: now for key in self.since if key.startswith(down) and not holds}
        return replace(self, held=holds, since={**self.since, **over})

    def backs_off(self, now: float) -> bool:
        """Whether it is too early after rounds that failed; no longer than the longest pause, whatever a clock did."""
        return bool(self.failures) and now < self.retry_at <= now + LONGEST_PAUSE_SECONDS

    def failed(self, text: str, now: float) -> "Memory":
        """After a round that failed: the next comes later and later."""
        times = self.failures + 1
        pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(times - 1, 10))
        return replace(self, failures=times, failure=text, retry_at=now + pause)

    def began(self, begun: Begun) -> "Memory":
        """While a round applies a plan."""
        return replace(self, begun=begun, number=begun.number)

    def ended(
        self,
        done: Round,
        moved: Mapping[str, float],
        unhealthy: Collection[str],
        under: Collection[str] = (),
        failure: str = "",
    ) -> "Memory":
        """After a round that applied a plan; `moved`: when which partitions were; `unhealthy`: partitions now.

        `under`: those for which it stopped, which are no reason for a person to look; `failure`: how it failed.

        A directory that is still full has been so since then: what has left it gives its room back a while later
        (file.delete.delay.ms).
        """
        begun, now = self.begun, done.ended_at
        times = {
            name: tuple(t for t in moved_at if now - t < DAY_SECONDS)
            for name, moved_at in self.moved.items()
        }
        for name, at in moved.items():
            times[name] = (*times.get(name, ()), at)
        now_bad = set(unhealthy) - set(under)
        before = len(now_bad) if begun is None else len(begun.unhealthy)
        worse = EndedWorse(done.number, before, len(now_bad)) if len(now_bad) > before else None
        full = DeviationKind.LOG_DIR_FULL.value
        after = replace(
            self,
            since={key: at for key, at in self.since.items() if not key.startswith(full)},
            begun=None,
            rounds=(done, *self.rounds)[:KEPT_ROUNDS],
            moved={name: moved_at for name, moved_at in times.items() if moved_at},
            failures=0,
            failure="",
            retry_at=0.0,
            worse=worse,
            under=tuple(sorted(under)),
        )
        return replace(after, failures=self.failures).failed(failure, now) if failure else after

    def down_since(self, times: Mapping[int, float]) -> "Memory":
        """With the brokers that were seen to be down while a round was at work."""
        return replace(self, since={**self.since, **{down_key(b): at for b, at in times.items()}})

    def broker_down(self, broker: int) -> float | None:
        """Since when a broker counts as down that has replicas by rule; None where it is not known to be."""
        return self.since.get(down_key(broker))

    def healed(self, unhealthy: Collection[str]) -> "Memory":
        """Once some of those that it stopped for are in sync again."""
        under = tuple(name for name in self.under if name in unhealthy)
        return self if under == self.under else replace(self, under=under)

    def obeyed(self, command: LoopCommand, now: float) -> "Memory":
        """After a command of a person."""
        match command.verb:
            case Verb.PAUSE:
                return replace(self, paused=SomebodyPaused(command.sender or "unknown", now))
            case Verb.RESUME:
                return self.resumed()
            case _:
                return self

    def resumed(self) -> "Memory":
        """After a person has looked: nothing is held against the next round."""
        return replace(
            self, paused=None, worse=None, under=(), moved={}, failures=0, failure="", retry_at=0.0
        )


def down_key(broker: int) -> str:
    """By which a broker is known that is down, and has replicas by rule."""
    return f"{DeviationKind.BROKER_DOWN.value} {broker}"
