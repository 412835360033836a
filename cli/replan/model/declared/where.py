"""A place in a placement file, and what is wrong there."""

from collections.abc import Sequence

from msgspec import Struct

from replan.errors import BadPlacement
from replan.wording import NAMES_SHOWN, capped


class Where(Struct, frozen=True, order=True):
    """A place in a placement file, printed as `file:line:column`; of two, the one read first is the smaller one."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @classmethod
    def read(cls, text: str) -> "Where":
        """A place as it is printed; raises ValueError where it is none."""
        file, line, column = text.rsplit(":", 2)
        return cls(file, int(line), int(column))


class Mistake(Struct, frozen=True):
    """One thing that the author of a placement has to correct."""

    where: Where
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


class MistakenPlacement(BadPlacement):
    """All mistakes that were found, each with its place; the message lists the first twenty."""

    def __init__(self, mistakes: Sequence[Mistake], *, noun: str = "", way_out: str = "") -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(capped(mistakes, limit=NAMES_SHOWN, noun=noun, way_out=way_out)))
