import gc
import subprocess
import sys

import pytest

from replan.model.api import garbage_collection_paused
from replan.placement_file.api import (
    Problems,
    Source,
    YamlList,
    YamlMapping,
    fastest_parser,
    key_place_of,
    place_of,
    python_parser,
    read_yaml_document,
)

WITHOUT_LIBYAML = """
import logging, sys
logging.basicConfig(format="%(levelname)s %(message)s")
sys.modules["yaml._yaml"] = None  # what an interpreter without the compiled part says
from replan.placement_file.yaml_text import fastest_parser, python_parser
print(fastest_parser() is python_parser)
"""
TEXT = 'é: [1, "2", x]\nb:\n  - {c: true}\n  -\n'


@pytest.mark.parametrize("parser_of", [fastest_parser(), python_parser])
def test_every_key_and_value_knows_its_place(parser_of: object) -> None:
    root = read_yaml_document(Source("a.yaml", TEXT), Problems(), parser_of)  # type: ignore[arg-type]
    assert root == {"é": [1, "2", "x"], "b": [{"c": True}, None]}
    assert isinstance(root, YamlMapping)
    assert isinstance(root["é"], YamlList)
    for path, key_at, at in (
        (("é",), 0, TEXT.index("[")),
        (("é", 1), TEXT.index('"2"'), TEXT.index('"2"')),
        (("b",), TEXT.index("b"), TEXT.index("- {")),
        (("b", 0, "c"), TEXT.index("c"), TEXT.index("true")),
    ):
        assert key_place_of(root, path) == key_at
        assert place_of(root, path) == at


def test_the_place_of_what_is_not_there_is_the_nearest_one_above() -> None:
    root = read_yaml_document(Source("a.yaml", TEXT), Problems(), fastest_parser())
    assert root is not None
    assert place_of(root, ("b", 0, "missing", "deeper")) == TEXT.index("{")
    assert place_of(root, ("b", 7)) == TEXT.index("- {")
    assert place_of(root, ()) == 0


def test_without_libyaml_reading_goes_on_slowly_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBYAML],
        env={"PYTHONPATH": ":".join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"
    assert done.stderr == (
        "WARNING PyYAML was built without libyaml: reading large placement files is slow; "
        "install a PyYAML wheel, or libyaml's headers before building it\n"
    )


def test_the_collector_is_as_it_was_after_a_pause() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
        with garbage_collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="inside"), garbage_collection_paused():
        raise ValueError("inside")
    assert gc.isenabled()
