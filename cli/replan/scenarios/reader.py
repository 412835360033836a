"""A scenario's text into blocks and back: prose, a command with its indented body, `----`, its output.

The form is that of the interaction tests of etcd's raft. Nothing here knows what commands mean.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

RULE = "----"


@dataclass(frozen=True, slots=True)
class Block:
    """One command; `output` is what is under its rule."""

    line: int
    command: str
    body: tuple[str, ...]
    output: tuple[str, ...]
    above: tuple[str, ...]
    """Everything from the end of the block before to this block's rule, as it is written."""


def read_blocks(text: str) -> tuple[list[Block], tuple[str, ...]]:
    """The commands, and the prose after the last one."""
    lines = text.splitlines()
    blocks: list[Block] = []
    start = at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            at += 1
            continue
        first = at
        rule = at = _while(lines, first + 1, lambda line: line.startswith((" ", "\t")))
        if lines[at : at + 1] == [RULE]:
            at = _while(lines, at + 1, lambda line: bool(line.strip()))
        body, output = lines[first + 1 : rule], lines[rule + 1 : at]
        above = tuple(lines[start:rule])
        blocks.append(Block(first + 1, lines[first], tuple(body), tuple(output), above))
        start = at
    return blocks, tuple(lines[start:])


def _while(lines: Sequence[str], at: int, holds: Callable[[str], bool]) -> int:
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at


def write_blocks(
    blocks: Sequence[Block], outputs: Sequence[Sequence[str]], below: Sequence[str]
) -> str:
    """The same scenario with other outputs; a blank line ends an output, and an empty one needs no rule."""
    lines: list[str] = []
    for block, output in zip(blocks, outputs, strict=True):
        lines += _apart(lines, block.above) if lines else block.above
        lines += [RULE, *output, ""] if output else []
    lines += _apart(lines, below)
    return "\n".join(lines).rstrip("\n") + "\n"


def _apart(lines: Sequence[str], following: Sequence[str]) -> Sequence[str]:
    """What follows, without the blank line that is there already."""
    ended = bool(lines) and not lines[-1]
    return following[1:] if ended and following and not following[0].strip() else following
