"""The demo in a folder: for commands that run as processes, and for those that run within a test."""

import shutil
from pathlib import Path

import pytest
from tests.commands.shell import EXAMPLE, Shell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the cluster of the demo and its placement."""
    for name in ("cluster.json", "placement.yaml"):
        shutil.copy(EXAMPLE / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """In a folder with the cluster of the demo, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)
