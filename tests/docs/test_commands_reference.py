"""docs/commands.md says what `--help` says."""

from tests.docs.commands_reference import reference
from tests.docs.pages import check_page


def test_the_page_is_what_the_commands_say() -> None:
    check_page("commands.md", reference())
