"""Run a story from its text: what each command tells now, beside what is written.

A refusal of replan's own is part of the story; a command that means nothing ends it, with its file and line.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from replan.errors import BadScenario, ReplanError
from replan.faults.token_reader import TokenReader
from replan.scenarios.applying import refused
from replan.scenarios.reader import Block, read_blocks, write_blocks
from replan.scenarios.session import Session
from replan.scenarios.table import COMMANDS, WITH_BODY

MOST_REWRITES = 3


@dataclass(frozen=True, slots=True)
class Run:
    """A story as it is written, and as it is told now."""

    name: str
    """The file's name, as it was asked for."""
    written: str
    told: str
    differing: tuple[Block, ...]
    """The commands that tell something else than what is written."""

    @property
    def as_written(self) -> bool:
        """Whether every command tells what is written."""
        return not self.differing

    def difference(self) -> str:
        """The places that differ, and a unified diff; empty where nothing does."""
        if self.as_written:
            return ""
        places = [
            f"{self.name}:{b.line}: `{b.command}` tells something else" for b in self.differing
        ]
        diff = difflib.unified_diff(
            self.written.splitlines(),
            self.told.splitlines(),
            f"{self.name} (as written)",
            f"{self.name} (as told now)",
            lineterm="",
        )
        return "\n".join([*places, *diff]) + "\n"


def run_story(text: str, name: str) -> Run:
    """Tell a story; raises BadScenario where a command or an argument means nothing."""
    blocks, below = read_blocks(text)
    if not blocks:
        raise BadScenario(f"{name}: no command in it; a story begins with `cluster brokers 1-5`")
    session = Session()
    try:
        told = [_told(session, block, name) for block in blocks]
    finally:
        session.close()
    differing = tuple(b for b, lines in zip(blocks, told, strict=True) if b.told != tuple(lines))
    return Run(name, text, write_blocks(blocks, told, below), differing)


def rewritten(run: Run) -> str:
    """The story as it is told now; what it tells may name its own lines, which have moved then."""
    for _ in range(MOST_REWRITES):
        if run.as_written:
            break
        run = run_story(run.told, run.name)
    return run.written


def _told(session: Session, block: Block, name: str) -> Sequence[str]:
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
    return session.told(text)
