"""The numbers that an application runs by, each with why it is what it is."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from replan.planning.plans.requests import SETTLE_SECONDS, SLOTS


class Settings(Struct, frozen=True, kw_only=True):
    """How patient, how fast, how careful; all times in seconds."""

    owner: str = "unknown"
    """Who applies, and where, for people: `alice@ops-1 (pid 4711)`."""
    moment: Callable[[], str] = str
    """The date and time for people who read the journal; nothing is decided by it. By default not known."""
    slots_per_broker: int = SLOTS
    """Copies that a broker sends or receives at once."""
    poll_seconds: float = 1.0
    soon_seconds: float = 1.0
    """How soon after a tick that asked for something its effect is looked for."""
    turn_seconds: float = 1.0
    """The same where elections run, and nothing but their end is waited for."""
    rest_times: float = 0.0
    """Pauses are so many times as long as ticks take, up to two of `poll_seconds`."""
    settle_seconds: float = SETTLE_SECONDS
    quarantine_seconds: float = 85.0
    """A broker re-sends a forwarded request for up to 60 s plus its TimeoutMs (10 s), and what a look allowed is sent
    no later than 12 s after it (`look_seconds`); rounded up."""
    agreeing_seconds: float = 5.0
    """How far apart two polls must be that conclude that a request had no effect."""
    ending_seconds: float = 15.0
    """How far apart they must be before a partition is given up by what a broker shows of it: brokers were seen to show
    metadata that is up to 8 s old, and another broker may be asked after one that was up to date."""
    patience_seconds: float = 45.0
    """A frozen active controller keeps every forwarded call waiting for 30 s; less would give up too early."""
    journal_patience_seconds: float = 60.0
    """As long as a real cluster is waited for that does not answer (`--timeout`): in a rolling restart under load the
    journal's partition, or that of its transactions, is without a leader for more than half a minute."""
    look_seconds: float = 12.0
    """How old a look may be when what follows from it is sent, appended before: brokers are asked for 10 s at most. A
    process may be stopped or starved anywhere between, and who was in sync dies meanwhile. With the 70 s for which a
    request may be on its way it is no more than the quarantine, for which a process that took over waits."""
    stalled_seconds: float = 300.0
    retry_seconds: float = 10.0
    """How often a closed gate is looked at again."""
    sizes_seconds: float = 5.0
    """How often the sizes of running copies are read; less often where that takes many brokers (`sizes_period`)."""
    rates_seconds: float = 20.0
    """How often throttle rates are read that nobody waits for."""
    disk_seconds: float = 60.0
    """How often the room on log directories is read while copies wait, at least (`disk_period`)."""
    neighbours_seconds: float = 60.0
    """How often the rest of the cluster is looked at while copies wait; less often where that takes long."""
    window: int = 5_000
    """How many waiting moves are looked at in one tick."""
    batch: int = 5_000
    """Replica lists per tick: 10,000 is the controller's limit (ReplicationControlManager)."""
    elections: int = 1_000
    """Per request: exactly 10,000 make the active controller resign."""
    elections_per_leader: int = 250
    """Per request, and the next one goes when the controller has answered that it elected these."""
    give_up_seconds: float | None = None
    """Leave, resumable, when nothing has moved for so long: no byte, no ISR, no request but a repeated one; None waits
    for ever."""

    leave_at: float | None = None
    """On the clock of the application: leave then, resumable, as if interrupted."""

    preserve_throttles: bool = False
    """Leave the throttles of moves in place at the end, whatever the plan says."""

    @property
    def idle_seconds(self) -> float:
        """After so long without anything moving none of these times can move anything any more."""
        return self.stalled_seconds + self.quarantine_seconds + self.settle_seconds

    @property
    def disk_period(self) -> float:
        """Seconds between two readings of the room on log directories: some come before it is given up."""
        if self.give_up_seconds is None:
            return self.disk_seconds
        return min(self.disk_seconds, max(self.retry_seconds, self.give_up_seconds / 4))

    def on_a_real_clock(self) -> "Settings":
        """As long as ticks take time: a request shows within some tens of milliseconds, and a twentieth of a core
        is enough for a thousand copies."""
        return replace(self, soon_seconds=0.25, turn_seconds=0.02, rest_times=20.0)

    def pause_seconds(
        self, took: float, *, awaits_effect: bool, elected: float | None = None
    ) -> float:
        """Until the next tick, after one that took so long; `awaits_effect`: its effect is to be looked for.

        `elected`: so long ago elections were asked for that have not been seen, and nothing else runs, or others wait
        for their turn. They end in some tens of milliseconds; a broker that is busy with those before shows it later,
        and is asked the less often the longer that takes.
        """
        if elected is not None:
            return min(self.poll_seconds, max(self.turn_seconds, elected / 2))
        if awaits_effect:
            return min(self.poll_seconds, max(self.soon_seconds, self.rest_times * took))
        return max(self.poll_seconds, min(2 * self.poll_seconds, self.rest_times * took))

    def sizes_period(self, brokers: int) -> float:
        """Seconds between two readings of sizes on so many brokers: at most four requests a second on average."""
        return max(self.sizes_seconds, brokers / 4)
