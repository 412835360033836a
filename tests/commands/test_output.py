"""What reaches a terminal, a pipe, a full disk: no control character of other people, no traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commandline import PROGRAM, checked, environment, in_shell, replan

from replan.wording import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("disk\x1b[2J at 92 %", "disk\\u001b[2J at 92 %"),
        ("one\ttwo\nthree", "one\ttwo\nthree"),
        ("over\rwritten", "over\\u000dwritten"),
        ("\x7f\x9b", "\\u007f\\u009b"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("Zürich → 東京", "Zürich → 東京"),
    ],
)
def test_a_control_character_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_json_stays_the_same_json_when_it_is_made_visible() -> None:
    text = json.dumps({"reason": "\x1b[2J \x9b \u202e"}, ensure_ascii=False)
    assert json.loads(visible(text)) == json.loads(text)


PLAN = ("plan", "--simulated", "cluster.json")


@pytest.mark.command
@pytest.mark.parametrize("arguments", [PLAN, ("--help",)])
def test_a_full_disk_is_one_line_and_exit_1(folder: Path, arguments: tuple[str, ...]) -> None:
    done = in_shell('exec "$@" >/dev/full', *PROGRAM, *arguments, folder=folder)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("No space left on device\n")


@pytest.mark.command
def test_a_log_on_a_full_disk_goes_on_once_there_is_room(tmp_path: Path) -> None:
    """As of a loop that works for months; a file that may not grow stands for the disk."""
    told = """
import resource
from replan.commands.api import note, prepare_streams
prepare_streams()
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
for _ in range(100_000):
    note("nobody has room for this")
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
note("there is room")
"""
    with (tmp_path / "log").open("w") as log:
        done = subprocess.run(
            [sys.executable, "-c", told], env=environment(), stderr=log, check=False
        )
    assert done.returncode == 0
    assert (tmp_path / "log").read_text().endswith("there is room\n")


def test_a_closed_stdout_is_one_line_and_exit_1(folder: Path) -> None:
    done = in_shell('exec "$@" >&-', *PROGRAM, *PLAN, folder=folder)
    assert (done.returncode, done.stderr) == (
        1,
        "replan: stdout is closed, so the result cannot be written\n",
    )


@pytest.mark.command
def test_what_a_locale_cannot_write_is_escaped(folder: Path) -> None:
    text = (folder / "placement.yaml").read_text()
    (folder / "placement.yaml").write_text(text.replace("disk at 92 %", '"Zürich \\e[2J 東"'))
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = checked(*PLAN, "--format", "json", folder=folder, wanted=2, **ascii_only)
    assert done.stdout.isascii()
    assert "Zürich \x1b[2J 東" in str(json.loads(done.stdout)["reasons"]).replace("\\x1b", "\x1b")


FROM = ("--snapshot", "cluster.json")


@pytest.mark.parametrize(
    ("asked", "variables", "coloured"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--format", "json", "--color", "always"), {}, False),
    ],
)
def test_a_pipe_gets_colours_only_where_somebody_asks_for_them(
    folder: Path, asked: tuple[str, ...], variables: dict[str, str], coloured: bool
) -> None:
    unset = {"FORCE_COLOR": "", "NO_COLOR": ""}
    done = checked("plan", *FROM, *asked, folder=folder, wanted=2, **{**unset, **variables})
    assert ("\x1b[32m+4\x1b[0m \x1b[32m+5\x1b[0m \x1b[31m-1\x1b[0m" in done.stdout) is coloured
    assert ("\x1b" in done.stdout) is coloured


def test_a_pipe_is_not_cut_at_the_width_of_a_terminal(folder: Path) -> None:
    wide = replan("plan", *FROM, folder=folder).stdout
    assert replan("plan", *FROM, folder=folder, COLUMNS="40").stdout == wide
    assert max(map(len, wide.splitlines())) > 100


def test_the_steps_of_each_move_are_listed_when_asked(folder: Path) -> None:
    shown = replan("plan", *FROM, "--steps", folder=folder).stdout
    assert "orders-1  [3,1,2] -> [3,1]  (declared replicas)\n    assign  [3,1]  after" in shown
    assert "Brokers:\n" in shown
    assert "partition 0\n" not in shown
