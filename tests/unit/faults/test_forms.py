"""Every form means the same in a story and as a `--fault`, and happens in one; docs/faults.md lists exactly these."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from tests.properties import hostile_faults
from tests.unit.faults.fault_context import CONTEXT, SAMPLES

from replan.faults.api import (
    FORMS,
    LOOP_FORMS,
    Kind,
    LoopForm,
    TokenReader,
    read_fault,
    read_schedule,
)
from replan.simulator.api import At, Fault, SendLogMoves

DOCUMENT = Path(__file__).parents[3] / "docs" / "faults.md"
SCENARIOS = Path(__file__).parents[2] / "scenarios"


def form(kind: Kind) -> str:
    return kind.form


def sample(kind: Kind) -> str:
    """A fault of this form."""
    (what,) = (text for text in SAMPLES if known_by(text) == kind.form)
    return what


def known_by(text: str) -> str | None:
    """The form of what happens in a line, if that is a fault."""
    words = text.split()
    forms = [kind for kind in FORMS if words[: kind.leads] == [*kind.begins]]
    return max(forms, key=lambda kind: kind.leads).form if forms else None


def test_every_form_happens_in_a_scenario() -> None:
    lines = (line for path in SCENARIOS.glob("*.txt") for line in path.read_text().splitlines())
    happen = {known_by(re.sub(r"^at \S+ ", "", line)) for line in lines}
    assert [kind.form for kind in FORMS if kind.form not in happen] == []


@pytest.mark.parametrize("kind", FORMS, ids=form)
def test_a_form_means_the_same_on_the_command_line_as_in_a_story(kind: Kind) -> None:
    what = sample(kind)
    told = read_schedule(TokenReader(what, "story.txt:3"), CONTEXT)
    ends = re.search(r" for \w+$", what)
    ahead = what if ends is None else what[: ends.start()]
    asked = f"{ahead}  at 5s{'' if ends is None else ends[0]}"
    fault = read_fault(asked, CONTEXT)
    assert fault.schedule == tuple(At(5 + at.seconds, at.fault) for at in told)
    assert read_fault(f"{what} at 5s", CONTEXT).schedule == fault.schedule
    assert fault.text == " ".join(asked.split())


@pytest.mark.parametrize("kind", FORMS, ids=form)
def test_a_form_that_is_left_in_the_middle_is_shown_whole(kind: Kind) -> None:
    if kind.form == "rebalance":
        return
    for read in (
        lambda what: read_fault(f"{what} at 5s", CONTEXT),
        lambda what: read_schedule(TokenReader(what, "story.txt:3"), CONTEXT),
    ):
        with pytest.raises(Exception, match=r"; the form is: ") as refused:
            read(" ".join(kind.begins))
        assert str(refused.value).endswith(f"; the form is: {kind.form}")


def test_the_laws_are_tried_under_every_fault() -> None:
    drawn = vars(hostile_faults)
    by_itself = {SendLogMoves}  # what a lost request comes to, when it arrives late
    faults = [fault for fault in get_args(Fault) if fault not in by_itself]
    assert [fault for fault in faults if fault.__name__ not in drawn] == []


@pytest.mark.parametrize(("what", "forms"), [("form", FORMS), ("event", LOOP_FORMS)])
def test_every_form_stands_in_the_document_and_nothing_else(
    what: str, forms: Sequence[Kind | LoopForm]
) -> None:
    rows = "".join(f"| `{k.form.replace('|', chr(92) + '|')}` | {k.means} |\n" for k in forms)
    text = DOCUMENT.read_text(encoding="utf-8")
    head, title, rest = text.partition(f"| {what} | means |\n| --- | --- |\n")
    written, gap, below = rest.partition("\n\n")
    if "REPLAN_REWRITE" in os.environ:
        DOCUMENT.write_text(f"{head}{title}{rows.rstrip()}{gap}{below}", "utf-8")
    else:
        assert f"{written}\n" == rows
