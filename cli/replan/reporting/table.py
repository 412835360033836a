"""Rows as aligned columns of plain text: the one table of every report."""

from collections.abc import Container, Sequence

from replan.wording import one_line


def columns(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """One line a row, its cells two spaces apart; the columns in `right` are aligned to the right.

    Every row has as many cells as the first. What a cell has of line feeds becomes visible.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
