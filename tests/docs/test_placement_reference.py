"""docs/placement-file.md says what the schema and the parser say."""

from pathlib import Path

import pytest
from tests.docs.pages import check_page
from tests.docs.placement_reference import Key, as_yaml, example_of, keys, reference

from replan.placement_file.api import PLACEMENT, load_placement, read_schema

SCHEMA = read_schema(PLACEMENT)
KEYS = list(keys(SCHEMA))
SECTIONS = [key for key in KEYS if len(key.path) == 1]


def _named(key: Key) -> str:
    return ".".join(key.names)


def test_the_page_is_what_the_schema_says() -> None:
    check_page("placement-file.md", reference())


def test_every_key_stands_on_the_page_with_its_meaning() -> None:
    page = reference()
    for key in KEYS:
        assert f"`{_named(key)}`" in page or len(key.path) == 1, key.names
        assert key.schema["description"].removesuffix(" Not supported yet.") in page, key.names


@pytest.mark.parametrize("section", SECTIONS, ids=_named)
def test_the_example_of_a_section_loads(section: Key, tmp_path: Path) -> None:
    file = tmp_path / "placement.yaml"
    file.write_text(as_yaml({"version": 1, section.path[0]: example_of(section, KEYS)}))
    assert load_placement([file]).digest
