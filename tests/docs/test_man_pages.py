"""man/*.1 say what `--help` says."""

import subprocess
from shutil import which

import pytest
from tests.docs.man_pages import man_pages
from tests.docs.pages import TOP, check_page

MAN = TOP / "man"
PAGES = man_pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_command_says(name: str) -> None:
    check_page(name, PAGES[name], MAN)


def test_no_page_is_left_of_a_command_that_is_gone() -> None:
    assert {path.name for path in MAN.iterdir()} == set(PAGES)


def test_a_page_has_what_help_has() -> None:
    page = PAGES["replan-throttle-rate.1"]
    for part in (
        "replan throttle RATE",
        ".SH Arguments",
        "unlimited",
        "\\-\\-running",
        ".SH Exit status",
        ".SH Examples",
    ):
        assert part in page
    assert "elect best\\-log" in PAGES["replan-elect.1"]


def test_man_reads_them_without_a_complaint() -> None:
    if not (man := which("man")):
        pytest.skip("man is not installed")
    for name in PAGES:
        read = subprocess.run(
            [man, "-l", "--warnings", str(MAN / name)], capture_output=True, text=True, check=True
        )
        assert read.stderr == ""
        assert name.removesuffix(".1") in read.stdout
