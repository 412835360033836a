"""Run a scenario from its text, and compare the output of each command with what is written.

A refusal by replan is part of the scenario; an unknown command ends it, with its file and line.

One process that applies, paused and resumed by a scenario.

The applier is a loop that sleeps between two ticks. It runs in a thread of its own that is paused only while it
sleeps: scenario and process never run at the same time, and every run is the same.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Semaphore, Thread

from replan.applying.views.outcome import Outcome
from replan.errors import BadScenario, ReplanError
from replan.faults.token_reader import TokenReader
from replan.model.control_plane import Clock
from replan.scenarios.applying import refused
from replan.scenarios.reader import Block, read_blocks, write_blocks
from replan.scenarios.session import Session
from replan.scenarios.table import COMMANDS, WITH_BODY
from replan.simulator.clock import VirtualClock

MOST_REWRITES = 3


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario as it is written, and its output now."""

    name: str
    """The file's name, as it was asked for."""
    written: str
    output: str
    differing: tuple[Block, ...]
    """The commands whose output differs."""

    @property
    def passed(self) -> bool:
        """Whether every output is as written."""
        return not self.differing

    def difference(self) -> str:
        """The places that differ, and a unified diff; empty where nothing does."""
        if self.passed:
            return ""
        places = [f"{self.name}:{b.line}: output differs: `{b.command}`" for b in self.differing]
        diff = difflib.unified_diff(
            self.written.splitlines(),
            self.output.splitlines(),
            f"{self.name} (as written)",
            f"{self.name} (now)",
            lineterm="",
        )
        return "\n".join([*places, *diff]) + "\n"


def run_scenario(text: str, name: str) -> Run:
    """Run a scenario; raises BadScenario where a command or an argument is unknown."""
    blocks, below = read_blocks(text)
    if not blocks:
        raise BadScenario(f"{name}: no command in it; a scenario begins with `cluster brokers 1-5`")
    session = Session()
    try:
        output = [_output(session, block, name) for block in blocks]
    finally:
        session.close()
    differing = tuple(
        b for b, lines in zip(blocks, output, strict=True) if b.output != tuple(lines)
    )
    return Run(name, text, write_blocks(blocks, output, below), differing)


def rewritten(run: Run) -> str:
    """The scenario with its output now; that may name its own lines, which have moved then."""
    for _ in range(MOST_REWRITES):
        if run.passed:
            break
        run = run_scenario(run.output, run.name)
    return run.written


def _output(session: Session, block: Block, name: str) -> Sequence[str]:
    where = f"{name}:{block.line}"
    tokens = TokenReader(block.command, where)
    command = tokens.one("a command")
    if command not in COMMANDS:
        raise BadScenario(
            f"{where}: unknown command `{command}`; known: {', '.join(sorted(COMMANDS))}"
        )
    if block.body and command not in WITH_BODY:
        raise tokens.wrong(f"`{command}` has no lines below it; commands begin at the margin")
    try:
        text = COMMANDS[command](session, tokens, block.body)
    except BadScenario as problem:
        placed = str(problem).startswith(where)
        raise problem if placed else BadScenario(f"{where}: {problem}") from problem
    except ReplanError as error:
        text = refused(error)
    except ValueError as problem:
        raise BadScenario(f"{where}: {problem}") from problem
    return session.output(text)


class Killed(BaseException):
    """The process died; nothing in the applier may catch it."""


End = Outcome | ReplanError | Killed


class Process:
    """A run of the applier that can be paused while it sleeps."""

    def __init__(self, clock: VirtualClock, run: Callable[[Clock], Outcome]) -> None:
        self._clock = clock
        self._run = run
        self._go = Semaphore(0)
        self._rest = Semaphore(0)
        self._until = 0.0
        self._reached: Callable[[], bool] = _never
        self._killed = False
        self._failure: BaseException | None = None
        self.end: End | None = None
        """How it ended; None as long as it lives."""
        self._thread = Thread(target=self._live, daemon=True)
        self._thread.start()

    def resume_until(self, until: float, reached: Callable[[], bool] | None = None) -> None:
        """Run it until this second, or until it sleeps and `reached` holds, or to its end."""
        self._until = until
        self._reached = _never if reached is None else reached
        self._go.release()
        self._rest.acquire()
        if self._failure is not None:
            raise self._failure

    def kill(self) -> None:
        """Kill it where it sleeps."""
        if self.end is None:
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


def _never() -> bool:
    return False
