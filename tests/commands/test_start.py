"""The command answers at once: what is heavy is imported by the command that needs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commandline import environment, replan

pytestmark = pytest.mark.command
HEAVY = {
    "numpy",
    "pyarrow",
    "yaml",
    "jsonschema",
    "confluent_kafka",
    "kafka",
    "pyspark",
}


def test_the_arguments_alone_import_nothing_heavy() -> None:
    asked = "import sys, replan.main; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", asked], env=environment(), capture_output=True, text=True, check=True
    )
    assert HEAVY & set(done.stdout.split()) == set()


def test_help_lists_every_command_in_the_order_of_the_work(tmp_path: Path) -> None:
    done = replan("--help", folder=tmp_path)
    listed = re.findall(r"^  ([a-z]+)  ", done.stdout.partition("Commands:")[2], re.MULTILINE)
    assert listed == [
        *("validate", "schema", "export", "snapshot", "plan", "show", "rehearse", "apply"),
        *("status", "resume", "abandon", "drift", "throttle", "scenario", "fleet"),
    ]
