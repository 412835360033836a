"""What does not fit its type is refused with the file, the path, what was expected and what was found."""

from enum import Enum
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from replan.documents.api import typed
from replan.errors import BadFile


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(Struct, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=0, le=10_000)]
    name: Annotated[str, Meta(min_length=1)] = "x"
    rate: Annotated[float, Meta(gt=0)] | None = None
    colour: Colour = Colour.RED
    side: Literal["left", "right"] = "left"


class Outer(Struct, forbid_unknown_fields=True):
    inner: Inner
    listed: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"count": "x"}, 'count: expected a whole number, found "x"'),
        ({"count": True}, "count: expected a whole number, found true"),
        ({"count": -1}, "count: expected a whole number of at least 0, found -1"),
        ({"count": 20_000}, "count: expected a whole number of at most 10,000, found 20000"),
        ({"count": 1, "name": ""}, 'name: expected a string of length at least 1, found ""'),
        ({"count": 1, "rate": "x"}, 'rate: expected a number or null, found "x"'),
        ({"count": 1, "rate": 0}, "rate: expected a number above 0, found 0"),
        ({"count": 1, "colour": "green"}, 'colour: expected "red" or "blue", found "green"'),
        ({"count": 1, "side": "up"}, 'side: expected "left" or "right", found "up"'),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_path(
    value: dict[str, object], complaint: str
) -> None:
    for document, path in (
        ({"inner": value}, "$.part.inner"),
        ({"inner": {"count": 1}, "listed": [{"count": 2}, value]}, "$.part.listed[1]"),
    ):
        with pytest.raises(BadFile) as failure:
            typed(document, Outer, "c.json", "$.part")
        assert str(failure.value) == f"c.json: {path}.{complaint}"


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ([], "$: expected an object, found []"),
        ({}, '$: "inner" is missing'),
        ({"inner": {"cuont": 1}}, '$.inner: unknown key "cuont"; did you mean "count"?'),
        ({"inner": {"count": 1}, "named": {"a": {"count": "x"}}}, "expected a whole number"),
    ],
)
def test_a_document_of_another_shape_is_refused(document: object, complaint: str) -> None:
    with pytest.raises(BadFile) as failure:
        typed(document, Outer, "c.json")
    assert complaint in str(failure.value)


def test_what_fits_is_read() -> None:
    document = {"inner": {"count": 3, "colour": "blue"}, "listed": [{"count": 1}]}
    assert typed(document, Outer, "c.json") == Outer(Inner(3, colour=Colour.BLUE), (Inner(1),))
