"""docs/commands*.md say what `--help` says."""

import re
from collections.abc import Mapping

import pytest
from tests.docs.commands_reference import reference
from tests.docs.pages import DOCS, check_page

from replan.main import Replan


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return reference()


def test_each_page_is_what_the_commands_say(pages: Mapping[str, str]) -> None:
    for name, page in pages.items():
        check_page(name, page)


def test_every_command_has_a_page_and_the_overview_links_it(pages: Mapping[str, str]) -> None:
    overview = pages["commands.md"]
    assert {path.name for path in DOCS.glob("commands*.md")} == set(pages)
    for words in Replan.table:
        (page,) = re.findall(rf"\[`replan {words}`\]\((commands-\w+\.md)#", overview)
        assert f"\n## replan {words}\n" in pages[page]


def test_every_entry_of_exit_codes_is_a_code(pages: Mapping[str, str]) -> None:
    whole = "\n".join(pages.values())
    sections = (part.partition("\n## ")[0] for part in whole.split("Exit codes")[1:])
    entries = [line for part in sections for line in part.splitlines() if line.startswith("* `")]
    assert entries
    assert [line for line in entries if not re.match(r"\* `\d+`: \S", line)] == []
