"""A layered mapping is what a plain one is, however often it is changed."""

from hypothesis import given
from hypothesis import strategies as st

from replan.model.api import ENTRIES_BEFORE_COPY, Layered

NUMBERS = st.integers(0, 6)


@given(
    base=st.dictionaries(NUMBERS, NUMBERS),
    changes=st.lists(st.tuples(st.dictionaries(NUMBERS, NUMBERS), st.sets(NUMBERS)), max_size=6),
)
def test_it_is_what_a_plain_mapping_is_after_the_same_changes(
    base: dict[int, int], changes: list[tuple[dict[int, int], set[int]]]
) -> None:
    plain, layered = dict(base), Layered(base)
    for found, gone in changes:
        before, known = dict(layered), layered
        layered = layered.changed(found, gone)
        plain = {k: v for k, v in plain.items() if k not in gone} | found
        assert dict(layered) == plain
        assert layered == plain
        assert len(layered) == len(plain)
        assert all((k in layered) == (k in plain) for k in range(7))
        assert all(layered.get(k) == plain.get(k) for k in range(7))
        assert dict(known) == before, "the one before is as it was"


def test_it_stays_the_same_where_more_differs_than_is_kept_apart() -> None:
    layered = Layered(dict.fromkeys(range(2 * ENTRIES_BEFORE_COPY), 0))
    layered = layered.changed(
        dict.fromkeys(range(ENTRIES_BEFORE_COPY + 1), 1), [2 * ENTRIES_BEFORE_COPY - 1]
    )
    assert sum(layered.values()) == ENTRIES_BEFORE_COPY + 1
    assert 2 * ENTRIES_BEFORE_COPY - 1 not in layered
