"""Every safeguard that is taken away is missed by a test: the tests would have found what it prevents."""

import ast
import builtins
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutations.safeguards import SAFEGUARDS, Safeguard

ROOT = Path(__file__).parents[2]
COPIED = ("cli", "tests", "schema", "docs", "pyproject.toml")
TESTS_FAILED = 1
"""pytest's exit code."""

by_name = pytest.mark.parametrize("safeguard", SAFEGUARDS, ids=lambda m: m.name)


def without(safeguard: Safeguard, root: Path) -> str:
    source = (root / "cli" / "replan" / safeguard.path).read_text()
    assert source.count(safeguard.text) == 1, (
        f"{safeguard.path} has changed: give the patch its new text"
    )
    return source.replace(safeguard.text, safeguard.without)


@by_name
def test_every_patch_fits(safeguard: Safeguard) -> None:
    whole = (ROOT / "cli" / "replan" / safeguard.path).read_text()
    assert names(without(safeguard, ROOT)) <= names(whole), "it names what the file does not have"


def names(source: str) -> set[str]:
    """Every variable, attribute, parameter and function."""
    words = (
        getattr(node, part, None)
        for node in ast.walk(ast.parse(source))
        for part in ("id", "attr", "arg", "name")
    )
    return {w for w in words if isinstance(w, str)} - set(dir(builtins))


@pytest.mark.nightly
@by_name
def test_a_safeguard_that_is_taken_away_is_missed(safeguard: Safeguard, tmp_path: Path) -> None:
    copied(tmp_path)
    take_away(safeguard, tmp_path)
    found = any(fails(test, tmp_path) for test in safeguard.caught_by)
    assert found, f"without it everything passes: {safeguard.name}"


def copied(folder: Path) -> None:
    """Copy what tests need."""
    for name in COPIED:
        whole = ROOT / name
        if whole.is_dir():
            shutil.copytree(whole, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(whole, folder / name)


def take_away(safeguard: Safeguard, folder: Path) -> None:
    """Apply the patch to a copy."""
    (folder / "cli" / "replan" / safeguard.path).write_text(without(safeguard, folder))


def fails(test: str, folder: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += ["--timeout", "0", test]
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "cli"), "HYPOTHESIS_PROFILE": "full"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in {0, TESTS_FAILED}, ended.stdout + ended.stderr
    return ended.returncode == TESTS_FAILED
