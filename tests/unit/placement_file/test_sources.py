"""Files that cannot be read; a run as root drops to another user, since root may read everything."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import BadPlacement
from replan.placement_file.api import (
    Source,
    find_files,
    lines_and_columns,
    load_placement,
    read_source,
)

NOBODY = 65534
READ = """
import os, sys
from pathlib import Path
from replan.errors import BadPlacement
from replan.placement_file.sources import find_files, read_source
b"a".decode("utf-8-sig")  # a codec is imported when first used, perhaps from a folder that root alone may read
if os.geteuid() == 0:
    os.setgid({nobody})
    os.setuid({nobody})
try:
    print([read_source(file).text for file in find_files([Path(sys.argv[1])])])
except BadPlacement as refused:
    print(refused)
"""


def read_as_an_ordinary_user(name: str, folder: Path) -> str:
    """What reading says to a user who is not root, with `folder` as the working directory."""
    done = subprocess.run(
        [sys.executable, "-c", READ.format(nobody=NOBODY), name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.command
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    closed = tmp_path / "placement.yaml"
    closed.write_text("version: 1\n")
    closed.chmod(0o644)
    assert read_as_an_ordinary_user("placement.yaml", tmp_path) == r"['version: 1\n']"
    closed.chmod(0o000)
    assert read_as_an_ordinary_user("placement.yaml", tmp_path) == (
        "placement.yaml: no permission to read it; run as a user who may, or change its mode"
    )


@pytest.mark.command
@pytest.mark.parametrize("inside", ["", "/placement.yaml"])
def test_a_folder_without_permission_is_named(tmp_path: Path, inside: str) -> None:
    tmp_path.chmod(0o755)
    closed = tmp_path / "placements"
    closed.mkdir()
    (closed / "placement.yaml").write_text("version: 1\n")
    closed.chmod(0o000)
    told = read_as_an_ordinary_user(f"placements{inside}", tmp_path)
    closed.chmod(0o755)
    assert told == (
        f"placements{inside}: no permission to read it; run as a user who may, or change its mode"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.yaml", "there is no such file or folder; check the path"),
        ("file/below", "a part of this path is a file, not a folder; check the path"),
        ("loop", "cannot be read: "),
        ("n" * 300, "cannot be read: File name too long"),
        ("nul\0", "cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").write_text("version: 1\n")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(BadPlacement) as refused:
        load_placement([tmp_path / name])
    assert str(refused.value).startswith(f"{tmp_path / name}: {reason}")


def test_all_unreadable_files_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\0")
    with pytest.raises(BadPlacement) as refused:
        load_placement([tmp_path / "missing.yaml", tmp_path / "binary.yaml"])
    assert str(refused.value).splitlines() == [
        f"{tmp_path}/missing.yaml: there is no such file or folder; check the path",
        (
            f"{tmp_path}/binary.yaml:1:1: this is a binary file (it has a zero byte); a placement file is "
            "YAML text in UTF-8"
        ),
    ]


def test_a_folder_means_its_own_yaml_files_sorted(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", ".hidden.yaml", "readme.md"):
        (tmp_path / name).write_text("version: 1\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "d.yaml").write_text("version: 1\n")
    assert find_files([tmp_path]) == [tmp_path / "a.yaml", tmp_path / "b.yml"]


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 1\n")
    with pytest.raises(BadPlacement) as refused:
        find_files([tmp_path, tmp_path / "a.yaml"])
    assert str(refused.value) == (
        f"{tmp_path}/a.yaml: given twice (first as {tmp_path}/a.yaml); name each file once"
    )


def test_no_file_at_all_is_refused() -> None:
    with pytest.raises(BadPlacement, match="no placement given; name a file or a folder with -f"):
        find_files([])


def test_a_byte_order_mark_does_not_shift_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("\ufeffversion: 1\n".encode())
    assert read_source(tmp_path / "a.yaml").text == "version: 1\n"


@given(st.text(st.sampled_from("a\n\ré€𝄞"), max_size=30), st.data())
def test_lines_and_columns_are_those_of_an_editor(text: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, max(0, len(text) - 1)))
    source = Source("a.yaml", text)
    before = text[:index]
    if index and text[index - 1 : index + 1] == "\r\n":
        before = text[: index - 1] + " "  # between the two, still the same line
    lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    where = source.where(index)
    assert (where.line, where.column) == (len(lines), len(lines[-1]) + 1)
    many = lines_and_columns(source, np.array([index], np.int64))
    assert (int(many[0][0]), int(many[1][0])) == (where.line, where.column)


@pytest.mark.parametrize(
    ("name", "advice"),
    [("team", "name a file"), ("team.json", "name a file"), ("a.yaml", "rename it")],
)
def test_of_a_folder_in_the_place_of_a_file_it_says_what_to_do(
    tmp_path: Path, name: str, advice: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(
        BadPlacement, match=f"this is a folder, where a file is expected; {advice}$"
    ):
        read_source(tmp_path / name)
