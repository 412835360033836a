"""The gate that keeps tests off the network, and how a failure of the night is drawn again."""

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_test_without_a_mark_reaches_no_network() -> None:
    with (
        socket.socket() as plug,
        pytest.raises(RuntimeError, match="this test has no network"),
    ):
        plug.connect(("127.0.0.1", 9))


@pytest.mark.kafka
def test_a_test_marked_kafka_may_listen() -> None:
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))


@pytest.mark.command
def test_a_failure_with_a_seed_ends_with_the_command_that_draws_it_again(tmp_path: Path) -> None:
    tree = Path(__file__).parents[2]
    (tmp_path / "test_drawn.py").write_text(
        "from hypothesis import given, strategies as st\n\n"
        "@given(st.integers(0, 10**9))\n"
        "def test_it(drawn: int) -> None:\n    assert drawn % 7 != 3, f'drawn {drawn}'\n"
    )
    asked = ("-p", "tests.conftest", "-p", "no:cacheprovider", "--hypothesis-seed", "20261224")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *asked, str(tmp_path / "test_drawn.py")],
        cwd=tree,
        env={**os.environ, "HYPOTHESIS_PROFILE": "nightly"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (again,) = re.findall("^HYPOTHESIS_PROFILE=nightly .*", done.stdout, re.MULTILINE)
    assert shlex.split(again)[-3:-1] == ["--hypothesis-seed", "20261224"]
