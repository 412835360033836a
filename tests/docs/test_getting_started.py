"""Getting started, done as it is written: every command is run in order, and prints what the page shows."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.commandline import replan
from tests.docs.pages import DOCS

pytestmark = pytest.mark.command
PAGE = (DOCS / "getting-started.md").read_text()
CONSOLE = re.compile(r"```console\n\$ replan (.*)\n((?:.*\n)*?)```")
CHANGES = {"plan": 2}


def test_the_page_is_true(tmp_path: Path) -> None:
    shutil.copy(DOCS.parent / "examples" / "demo" / "cluster.json", tmp_path)
    commands = CONSOLE.findall(PAGE)
    assert [line.split()[0] for line, _ in commands] == [
        *("doctor", "init", "plan", "plan", "apply", "drift")
    ]
    for line, shown in commands:
        if "-o plan.json" in line:
            edited(tmp_path / "placement.yaml")
        done = replan(*shlex.split(line), folder=tmp_path)
        assert done.returncode == (2 if "-o plan.json" in line else 0), done.stderr
        assert shown in done.stdout, done.stdout


def edited(path: Path) -> None:
    """Edit the file as step 4 says."""
    text = path.read_text()
    (snippet,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    listed, throttle = snippet.split("throttles:\n")
    assert listed.split("partitions:\n")[1].replace("[4, 2, 3]", "[1, 2, 3]") in text
    text = text.replace("      - [1, 2, 3]  # 0", "      - [4, 2, 3]  # 0")
    path.write_text(f"{text}throttles:\n{throttle}")
