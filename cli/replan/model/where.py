"""A place in a placement file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a manifest, printed as `file:line:column`."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
