"""Lists replaced in a placement file: a patch that git applies, comments kept, and nothing where more would change."""

import subprocess
from pathlib import Path

import pytest

from replan.errors import BadUsage
from replan.placement_file.api import DeclaredLists, load_placement, patch_of

TEXT = """\
# What payments need.
version: 1
assignments:
  orders:
    partitions:
      0: [1, 2, 3]   # the first
      1: [2,3,1]
      2:
        - 3   # leads
        - 1
        - 2
  ledger: {partitions: [[1, 2], [2, 3]]}
  clicks: {replicationFactor: 2}
reconcile: {putRight: {brokerDown: 30m}}
"""


def patched(folder: Path, text: str, lists: DeclaredLists) -> str:
    """The file once git has applied the patch."""
    file = folder / "team" / "placement.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode())
    patch = patch_of([file], load_placement([file]), lists, folder)
    (folder / "changed.patch").write_bytes(patch.encode())
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    done = subprocess.run(
        ["git", "apply", "--verbose", "changed.patch"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + patch
    return file.read_bytes().decode()


def test_numbers_change_and_nothing_else(tmp_path: Path) -> None:
    lists: DeclaredLists = {"orders": {0: (1, 4, 3), 2: (3, 1, 4)}, "ledger": {1: (4, 3)}}
    assert patched(tmp_path, TEXT, lists) == TEXT.replace(
        "0: [1, 2, 3]   # the first", "0: [1, 4, 3]   # the first"
    ).replace("- 2\n", "- 4\n").replace("[2, 3]]", "[4, 3]]")


def test_a_list_of_another_length_is_written_whole(tmp_path: Path) -> None:
    changed = patched(tmp_path, TEXT, {"orders": {1: (3, 1)}})
    assert changed == TEXT.replace("1: [2,3,1]", "1: [3, 1]")


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r\n", 4),
        TEXT.removesuffix("reconcile: {putRight: {brokerDown: 30m}}\n").rstrip("\n"),
        TEXT.replace("payments", "Zahlungen für äöü \U0001f680"),
        '{"version": 1, "assignments": {"orders": {"partitions": {"0": [1, 2, 3]}}}}',
    ],
    ids=[
        "crlf",
        "some crlf",
        "no line feed at the end",
        "not ascii",
        "json",
    ],
)
def test_other_texts_keep_what_they_are(tmp_path: Path, text: str) -> None:
    changed = patched(tmp_path, text, {"orders": {0: (1, 4, 3)}})
    assert changed == text.replace("[1, 2, 3]", "[1, 4, 3]")


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "byte order mark"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("last", ["", "# the end"])
def test_a_list_near_the_beginning_is_changed_whatever_the_lines_end_with(
    tmp_path: Path, mark: str, line_end: str, last: str
) -> None:
    lines = ("version: 1", "assignments: {orders: {partitions: [[1, 2, 3]]}}", last)
    text = mark + line_end.join(lines)
    changed = patched(tmp_path, text, {"orders": {0: (1, 4, 3)}})
    assert changed == text.replace("[1, 2, 3]", "[1, 4, 3]")


def test_a_placement_that_is_another_one_by_now_is_not_edited(tmp_path: Path) -> None:
    file = tmp_path / "placement.yaml"
    file.write_text(TEXT)
    before = load_placement([file])
    file.write_text(TEXT.replace("[2,3,1]", "[3,2,1]"))
    with pytest.raises(BadUsage, match="changed meanwhile"):
        patch_of([file], before, {"orders": {0: (1, 4, 3)}}, tmp_path)


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"orders": {7: (1, 4, 3)}}, "by hand"),
        ({"clicks": {0: (1, 4)}}, "by hand"),
        ({"orders": {2: (3, 1)}}, "written with dashes"),
        ({"orders": {0: (1, 1, 3)}}, "edit it by hand: .*duplicate|by hand"),
    ],
)
def test_what_cannot_be_edited_without_harm_is_refused(
    tmp_path: Path, lists: DeclaredLists, why: str
) -> None:
    file = tmp_path / "placement.yaml"
    file.write_text(TEXT)
    with pytest.raises(BadUsage, match=why):
        patch_of([file], load_placement([file]), lists, tmp_path)
    assert file.read_text() == TEXT


def test_nothing_changes_where_the_lists_are_declared_already(tmp_path: Path) -> None:
    file = tmp_path / "placement.yaml"
    file.write_text(TEXT)
    lists: DeclaredLists = {"orders": {0: (1, 2, 3)}}
    assert patch_of([file], load_placement([file]), lists, tmp_path) == ""
