"""The README names the commands that set everything up, and those that CI runs."""

import re

import pytest
from tests.docs.pages import TOP

README = (TOP / "README.md").read_text()
MADE = re.compile(r"make (?:--\S+ )*([a-z][a-z -]*)")
"""A call of make with its targets, in a shell script."""


def called_by_ci() -> list[str]:
    """The targets that CI asks make for."""
    lines = (TOP / ".ci/run").read_text().splitlines()
    found = [MADE.search(line) for line in lines if not line.startswith("#")]
    return [target for call in found if call is not None for target in call[1].split()]


def test_ci_calls_the_test_command_and_what_needs_tools_of_its_own() -> None:
    assert called_by_ci() == ["tools", "test", "docs", "test-browser"]


@pytest.mark.parametrize("target", ["demo", "demo-kafka", *called_by_ci()])
def test_the_readme_names_the_command_and_make_has_it(target: str) -> None:
    assert re.search(rf"\bmake ([a-z-]+ )*{target}\b", README)
    assert re.search(rf"^{target}:", (TOP / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("tool", ["Python 3.11", "Java 17", "Maven", "npm", "Chromium", "git"])
def test_the_readme_says_what_a_machine_needs(tool: str) -> None:
    assert tool in README
