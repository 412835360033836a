"""Every test of this folder is marked `kafka`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Import nothing of it where no such test is wanted."""
    return True if "not kafka" in config.getoption("markexpr") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.kafka)
