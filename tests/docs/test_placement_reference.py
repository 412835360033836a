"""docs/placement-file.md says what the schema and the parser say."""

from pathlib import Path

import jsonschema
import pytest
from tests.docs.pages import check_page
from tests.docs.placement_reference import NOT_YET, Key, as_yaml, example_of, keys, reference

from replan.manifest.load import load_placement
from replan.manifest.schema.schemas import PLACEMENT, read_schema
from replan.manifest.unsupported import unsupported_keys

SCHEMA = read_schema(PLACEMENT)
KEYS = list(keys(SCHEMA))
SECTIONS = [key for key in KEYS if len(key.path) == 1]


def _named(key: Key) -> str:
    return ".".join(key.names)


def test_the_page_is_what_the_schema_says() -> None:
    check_page("placement-file.md", reference())


@pytest.mark.parametrize("key", KEYS, ids=_named)
def test_a_key_has_a_meaning_and_says_whether_it_is_supported(key: Key) -> None:
    says_not_yet = key.schema["description"].endswith(" Not supported yet.")
    assert says_not_yet or key.path not in unsupported_keys()
    assert not says_not_yet or key.since == NOT_YET


def test_every_key_that_the_parser_refuses_is_in_the_schema() -> None:
    assert unsupported_keys().keys() <= {key.path for key in KEYS}


@pytest.mark.parametrize("section", SECTIONS, ids=_named)
def test_the_example_of_a_section_fits_the_schema(section: Key) -> None:
    name = section.path[0]
    jsonschema.validate({"version": 1, name: example_of(section, KEYS)}, SCHEMA)


@pytest.mark.parametrize("section", SECTIONS, ids=_named)
def test_the_example_of_a_supported_section_loads(section: Key, tmp_path: Path) -> None:
    if section.since == NOT_YET:
        return
    file = tmp_path / "placement.yaml"
    file.write_text(as_yaml({"version": 1, section.path[0]: example_of(section, KEYS)}))
    assert load_placement([file]).digest
