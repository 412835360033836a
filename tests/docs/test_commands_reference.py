"""docs/commands.md says what `--help` says."""

import re

from tests.docs.commands_reference import reference
from tests.docs.pages import check_page


def test_the_page_is_what_the_commands_say() -> None:
    check_page("commands.md", reference())


def test_every_entry_of_exit_codes_is_a_code() -> None:
    sections = (part.partition("\n## ")[0] for part in reference().split("Exit codes")[1:])
    entries = [line for part in sections for line in part.splitlines() if line.startswith("* `")]
    assert entries
    assert [line for line in entries if not re.match(r"\* `\d+`: \S", line)] == []
