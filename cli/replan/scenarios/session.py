"""One scenario while it runs: the cluster, the clock, the journal, the plan, and the process that applies.

What each command means is in the module of its family. The applier is a loop that sleeps between two ticks. It runs in
a thread of its own that is paused only while it sleeps: scenario and process never run at the same time, and every run
is the same.
"""

import re
from collections.abc import Callable
from threading import Semaphore, Thread

from replan.applying.journal.ledger import Ledger, fold
from replan.applying.journal.protocol import MemoryJournal
from replan.applying.run.loop import never
from replan.applying.run.opening import open_plan
from replan.applying.views.by_journal import as_planned_from, open_application_view
from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import Progress
from replan.errors import BadScenario, ReplanError
from replan.faults.kinds import FaultContext, fault_refusals, made_topic_id
from replan.model.control_plane import Clock
from replan.model.declared.placement import Placement
from replan.model.names import TopicId
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.scenarios.reader import Transcript
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.faults import At, Fault
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane


class Killed(BaseException):
    """The process died; nothing in the applier may catch it."""


ProcessEnd = Outcome | ReplanError | Killed


class Process:
    """A run of the applier that can be paused while it sleeps."""

    def __init__(self, clock: VirtualClock, run: Callable[[Clock], Outcome]) -> None:
        self._clock = clock
        self._run = run
        self._go = Semaphore(0)
        self._rest = Semaphore(0)
        self._until = 0.0
        self._reached: Callable[[], bool] = never
        self._killed = False
        self._failure: BaseException | None = None
        self.end: ProcessEnd | None = None
        """How it ended; None as long as it lives."""
        self._thread = Thread(target=self._live, daemon=True)
        self._thread.start()

    def resume_until(self, until: float, reached: Callable[[], bool] | None = None) -> None:
        """Run it until this second, or until it sleeps and `reached` holds, or to its end."""
        self._until = until
        self._reached = never if reached is None else reached
        self._go.release()
        self._rest.acquire()
        if self._failure is not None:
            raise self._failure

    def kill(self) -> None:
        """Kill it where it sleeps, if it lives."""
        if self.end is None and self._failure is None:
            self._killed = True
            self.resume_until(self._until)

    def now(self) -> float:
        """Its clock: that of the cluster."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Sleep in virtual time; the only place where it rests."""
        wakes = self._clock.now() + seconds
        if self._reached():
            self._rest_here()
        while self._until < wakes:
            self._clock.jump_to(self._until)
            self._rest_here()
        self._clock.jump_to(wakes)

    def _rest_here(self) -> None:
        self._rest.release()
        self._go.acquire()
        if self._killed:
            raise Killed

    def _live(self) -> None:
        self._go.acquire()
        try:
            self.end = self._run(self)
        except (ReplanError, Killed) as end:
            self.end = end
        except BaseException as failure:  # noqa: BLE001 - raised again in the scenario's own thread
            self._failure = failure
        self._rest.release()


PROCESS = "pid 1 on ops-1"
SHOWN_DIGITS = 12
"""Of a plan's digest, in whatever text."""


class Session:
    """What has happened so far."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.journal = MemoryJournal()
        self.transcript = Transcript()
        self.initial: Simulation | None = None
        """The cluster before anything happens to it."""
        self.placement: Placement | None = None
        self.wrong_placement = ""
        """What is wrong with the last one, if so."""
        self.plan: Plan | None = None
        """The saved plan, until another placement comes."""
        self.process: Process | None = None
        self.progress: Progress | None = None
        """As the process last reported it."""
        self.stopping = False
        """^C was pressed."""
        self.may_give_up = False
        """The process is to work until nothing can move any more."""
        self.agenda: list[At] = []
        """Faults still to come, by the second."""
        self._plane: SimulatedControlPlane | None = None
        self._digests: list[str] = []
        self._generations: dict[str, int] = {}

    @property
    def started(self) -> bool:
        """Whether anything but the setup has happened."""
        return self._plane is not None

    @property
    def plane(self) -> SimulatedControlPlane:
        """The cluster; once it is used, its setup is closed."""
        if self._plane is None:
            if self.initial is None:
                raise BadScenario("there is no cluster yet; begin with `cluster brokers 1-5`")
            self._plane = SimulatedControlPlane(
                self.initial, self.clock, watch=self.transcript.watch
            )
            self.transcript.begin(self._plane.simulation)
        return self._plane

    def ledger(self) -> Ledger:
        """What the journal says."""
        return fold(self.journal.read())

    def observe(self) -> Snapshot:
        """The cluster as the commands see it, with what the journal says of it."""
        ledger = self.ledger()
        opened = open_application_view(ledger, open_plan(ledger), at_work(self))
        return as_planned_from(self.plane.observe(), ledger, opened)

    def keep(self, plan: Plan) -> None:
        """Save a plan; its digest is shown as `plan-1`, `plan-2` and so on from now on."""
        self.plan = plan
        plan_digest = digest(plan)
        if plan_digest not in self._digests:
            self._digests.append(plan_digest)

    def fault_context(self) -> FaultContext:
        """What a fault is read against now."""
        return FaultContext(self.plane.simulation.cluster, self.topic_id)

    def topic_id(self, topic: str) -> TopicId:
        """The id of the next topic of this name; each is another one."""
        self._generations[topic] = self._generations.get(topic, 0) + 1
        return made_topic_id(f"{topic} {self._generations[topic]}")

    def advance_to(self, until: float, reached: Callable[[], bool] | None = None) -> None:
        """Let time pass until a moment, with the process at work if there is one.

        With `reached`, time stops where that holds, or where the process ends.
        """
        while (due := self._next_due(until)) is not None:
            self._pass_to(due.seconds, reached)
            if self.clock.now() < due.seconds or (reached is not None and reached()):
                return
            self.agenda.remove(due)
            self.inject(due.fault)
        self._pass_to(until, reached)

    def _next_due(self, until: float) -> At | None:
        due = [at for at in self.agenda if at.seconds <= until]
        return min(due, key=lambda at: at.seconds, default=None)

    def _pass_to(self, moment: float, reached: Callable[[], bool] | None) -> None:
        process = self.process
        if process is not None and process.end is None:
            process.resume_until(moment, reached)
        if reached is None:
            self.clock.jump_to(moment)
            _ = self.plane.simulation

    def inject(self, fault: Fault) -> None:
        """Inject a fault now; what the controller refuses is recorded."""
        for refusal in fault_refusals(self.plane.simulation.cluster, fault):
            self.transcript.add(self.clock.now(), f"refused: {refusal}")
        self.plane.inject(fault)

    def output(self, text: str) -> list[str]:
        """The output of the last command, in lines; none is blank or has a digest."""
        lines = [*self.transcript.take(), *text.splitlines()]
        return [self._without_digests(line.rstrip()) for line in lines if line.strip()]

    def _without_digests(self, line: str) -> str:
        for number, plan_digest in enumerate(self._digests, 1):
            line = re.sub(f"{plan_digest[:SHOWN_DIGITS]}[0-9a-f]*", f"plan-{number}", line)
        return line

    def close(self) -> None:
        """Kill the process, if one runs."""
        if self.process is not None:
            self.process.kill()


def at_work(session: Session) -> str | None:
    """The process that is running, as a lock names it."""
    process = session.process
    return None if process is None or process.end is not None else PROCESS
