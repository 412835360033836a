"""Every placement in accepts/ loads; every one in rejects/ is refused with exactly the message beside it.

`REPLAN_REWRITE=1 pytest tests/schema` writes the messages again; the diff is the review.
"""

import contextlib
from pathlib import Path

import pytest
from tests.goldens import check

from replan.errors import BadPlacement
from replan.placement_file.api import (
    fastest_parser,
    load_placement,
    load_sources,
    python_parser,
    read_source,
)

HERE = Path(__file__).parent
ACCEPTS, REJECTS = HERE / "accepts", HERE / "rejects"
GOOD = sorted(p.name for p in ACCEPTS.glob("*.yaml"))
BAD = sorted(p.name for p in REJECTS.iterdir() if p.suffix != ".expected")


def refusal(name: str) -> str:
    with contextlib.chdir(REJECTS), pytest.raises(BadPlacement) as refused:
        load_placement([Path(name)])
    return f"{refused.value}\n"


@pytest.mark.parametrize("name", GOOD)
def test_a_good_placement_loads(name: str) -> None:
    assert load_placement([ACCEPTS / name]).digest


@pytest.mark.parametrize("name", GOOD)
def test_without_libyaml_the_same_is_read(name: str) -> None:
    source = read_source(ACCEPTS / name)
    assert load_sources([source], python_parser) == load_sources([source], fastest_parser())


@pytest.mark.parametrize("name", BAD)
def test_a_bad_placement_is_refused_with_its_message(name: str) -> None:
    check(REJECTS / f"{name.removesuffix('.yaml')}.expected", refusal(name))


def test_every_line_of_a_refusal_says_where_and_what_to_do_and_no_message_is_left_over() -> None:
    told = {p.stem: p.read_text(encoding="utf-8") for p in REJECTS.glob("*.expected")}
    assert told.keys() == {name.removesuffix(".yaml") for name in BAD}
    for name in BAD:
        for line in told[name.removesuffix(".yaml")].splitlines():
            assert line.startswith((name, "and ")), name
            assert "; " in line or "? " in line, name
