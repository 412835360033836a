"""docs/commands*.md say what `--help` says."""

import re

import pytest
from tests.docs.commands_reference import reference
from tests.docs.pages import DOCS, check_page

from replan.main import Replan

PAGES_OF = reference()


@pytest.mark.parametrize("name", PAGES_OF)
def test_the_page_is_what_the_commands_say(name: str) -> None:
    check_page(name, PAGES_OF[name])


def test_every_command_has_a_page_and_the_overview_links_it() -> None:
    overview = PAGES_OF["commands.md"]
    assert {path.name for path in DOCS.glob("commands*.md")} == set(PAGES_OF)
    for words in Replan.table:
        (page,) = re.findall(rf"\[`replan {words}`\]\((commands-\w+\.md)#", overview)
        assert f"\n## replan {words}\n" in PAGES_OF[page]


def test_every_entry_of_exit_codes_is_a_code() -> None:
    whole = "\n".join(PAGES_OF.values())
    sections = (part.partition("\n## ")[0] for part in whole.split("Exit codes")[1:])
    entries = [line for part in sections for line in part.splitlines() if line.startswith("* `")]
    assert entries
    assert [line for line in entries if not re.match(r"\* `\d+`: \S", line)] == []
