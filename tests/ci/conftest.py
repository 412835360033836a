"""A project for each test, on a forge of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ci.forge import Forge
from tests.ci.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Forge().serving() as forge:
        yield Project(tmp_path, forge)
