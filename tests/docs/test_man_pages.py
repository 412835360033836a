"""man/*.1 say what `--help` says."""

import subprocess
from collections.abc import Mapping
from shutil import which

import pytest
from tests.docs.man_pages import man_pages
from tests.docs.pages import TOP, check_page

MAN = TOP / "man"


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return man_pages()


def test_each_page_is_what_the_command_says(pages: Mapping[str, str]) -> None:
    for name, page in pages.items():
        check_page(name, page, MAN)


def test_no_page_is_left_of_a_command_that_is_gone(pages: Mapping[str, str]) -> None:
    assert {path.name for path in MAN.iterdir()} == set(pages)


def test_man_reads_them_without_a_complaint(pages: Mapping[str, str]) -> None:
    if not (man := which("man")):
        pytest.skip("man is not installed")
    for name in pages:
        read = subprocess.run(
            [man, "-l", "--warnings", str(MAN / name)], capture_output=True, text=True, check=True
        )
        assert read.stderr == ""
        assert name.removesuffix(".1") in read.stdout
