"""kafka-python without its clients: what is left out, and that all of it can still be had."""

import subprocess
import sys

import pytest
from tests.commandline import environment

pytestmark = pytest.mark.command
LIBRARY = """
import warnings
warnings.simplefilter("ignore")
"""


def printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_clients_and_the_messages_of_others_are_left_out() -> None:
    loaded = printed("import sys, replan.kafka.control_plane; print(*sys.modules)").split()
    assert "kafka.protocol.api_message" in loaded
    assert not {"kafka.admin", "kafka.consumer", "kafka.net.manager", "kafka.protocol.admin"} & {
        *loaded
    }


def test_a_name_that_the_library_does_not_have_is_an_import_error() -> None:
    program = """
import replan.kafka.control_plane
try:
    from kafka import NoSuchClient
except ImportError as problem:
    print(problem)
"""
    assert "NoSuchClient" in printed(LIBRARY + program)
