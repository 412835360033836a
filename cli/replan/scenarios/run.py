"""Run a scenario from its text, and compare the output of each command with what is written.

Here is the table of all commands. A refusal by replan is part of the scenario; an unknown command ends it, with its
file and line.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from replan.errors import BadScenario, ReplanError
from replan.faults.read import FIRST_WORDS
from replan.faults.token_reader import TokenReader
from replan.scenarios.applying import (
    abandon,
    apply,
    at,
    cancel,
    clear,
    error_text,
    inject,
    interrupt,
    kill_process,
    resume,
    tick,
)
from replan.scenarios.planning import (
    drift,
    elect,
    journal,
    placement,
    plan,
    rollback,
    show,
    status,
    throttles,
)
from replan.scenarios.reader import ScenarioBlock, read_blocks, write_blocks
from replan.scenarios.session import Session
from replan.scenarios.setup import cluster, disk, topic

ScenarioCommand = Callable[[Session, TokenReader, Sequence[str]], str]


WITH_BODY = frozenset({"placement"})
"""Commands that have lines below them."""

COMMANDS: Mapping[str, ScenarioCommand] = MappingProxyType(
    {
        "abandon": abandon,
        "apply": apply,
        "at": at,
        "cancel": cancel,
        "clear": clear,
        "cluster": cluster,
        "crash": kill_process,
        "disk": disk,
        "drift": drift,
        "elect": elect,
        "interrupt": interrupt,
        "journal": journal,
        "placement": placement,
        "plan": plan,
        "resume": resume,
        "rollback": rollback,
        "show": show,
        "status": status,
        "throttles": throttles,
        "tick": tick,
        "topic": topic,
        **dict.fromkeys(FIRST_WORDS, inject),
    }
)


MOST_REWRITES = 3


class ScenarioRun(Struct, frozen=True):
    """A scenario as it is written, and its output now."""

    name: str
    """The file's name, as it was asked for."""
    written: str
    output: str
    differing: tuple[ScenarioBlock, ...]
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


def run_scenario(text: str, name: str) -> ScenarioRun:
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
    return ScenarioRun(name, text, write_blocks(blocks, output, below), differing)


def rewritten(run: ScenarioRun) -> str:
    """The scenario with its output now; that may name its own lines, which have moved then."""
    for _ in range(MOST_REWRITES):
        if run.passed:
            break
        run = run_scenario(run.output, run.name)
    return run.written


def _output(session: Session, block: ScenarioBlock, name: str) -> Sequence[str]:
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
        text = error_text(error)
    except ValueError as problem:
        raise BadScenario(f"{where}: {problem}") from problem
    return session.output(text)
