"""The table of a partition's phases."""

import re
from typing import get_args

import pytest
from tests.builders import move
from tests.unit.applying.journal.records import begun

from replan.applying import partitions
from replan.applying.api import (
    TRANSITIONS,
    Admitted,
    Deferred,
    Ended,
    InFlight,
    Parked,
    Phase,
    Waiting,
    check_transition,
)
from replan.model.api import BrokerId

RECORD = begun(move([1, 2, 3], [1, 2, 4]))
ALL: list[Phase] = [
    Waiting(),
    Deferred(10),
    Parked(BrokerId(1)),
    Admitted(),
    InFlight(RECORD),
    Ended(RECORD),
]


def documented() -> dict[str, set[str]]:
    """The table of the docstring: from a phase to the phases whose column has an x."""
    lines = (partitions.__doc__ or "").splitlines()
    (head,) = [i for i, line in enumerate(lines) if line.strip().startswith("from \\ to")]
    columns = {m.group(): m.start() for m in re.finditer(r"[A-Z]\w+", lines[head])}
    table = {}
    for row in lines[head + 1 : head + 1 + len(columns)]:
        marks = [m.start() for m in re.finditer(r"\bx\b", row)]
        table[row.split()[0]] = {
            name for name, at in columns.items() if any(at <= x <= at + len(name) for x in marks)
        }
    return table


def test_the_table_of_the_docstring_is_the_table_of_the_code() -> None:
    assert documented() == {
        before.__name__: {after.__name__ for after in allowed}
        for before, allowed in TRANSITIONS.items()
    }
    assert set(TRANSITIONS) == set(get_args(Phase))


@pytest.mark.parametrize("before", ALL, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("after", ALL, ids=lambda p: type(p).__name__)
def test_only_the_transitions_of_the_table_are_taken(before: Phase, after: Phase) -> None:
    if type(after) in TRANSITIONS[type(before)]:
        check_transition(before, after)
        return
    with pytest.raises(ValueError, match="no way from"):
        check_transition(before, after)
