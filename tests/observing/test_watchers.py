"""Who watches a loop: a state is posted once, a log says what changed, JSON lines are whole."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.commandline import environment
from tests.observing.test_notify import Hook
from tests.unit.reporting.loop_statuses import DOWN, NOW, acting, at_rest, holding

from replan.commands.api import Watching, note, notes_as_json
from replan.errors import BadFile, BadUsage
from replan.reconciling.api import LoopState, Round, RoundResult


@pytest.fixture(autouse=True)
def text_again() -> Iterator[None]:
    """Notes are text again afterwards, as in a process of its own."""
    yield
    notes_as_json(to=False)


def test_each_state_is_posted_once_and_starting_is_none() -> None:
    with Hook().listening() as hook:
        with Watching(notify=hook.url).watchers([]) as watchers:
            watchers.changed(msgspec.structs.replace(at_rest(), state=LoopState.STARTING))
            for status in (at_rest(), at_rest(), holding(), holding(), at_rest()):
                watchers.changed(status)
        states = [post["state"] for post in hook.posts]
    assert states == ["at-rest", "holding", "at-rest"]


def test_the_log_says_what_changed_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    ended = Round(8, NOW, NOW + 9, RoundResult.DONE, (DOWN,), 5, 10**9, "78" * 32)
    first = acting()
    with Watching().watchers([]) as watchers:
        watchers.changed(first)
        watchers.changed(msgspec.structs.replace(first, at=NOW + 2))
        watchers.changed(msgspec.structs.replace(first, rounds=(ended, *first.rounds)))
        watchers.changed(holding())
    lines = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        (
            "differs: 212 × a broker is down, 1 × the cluster was changed, 1 × a throttle was left behind, "
            "1 × for a person"
        ),
        "acts. It puts right what policy allows.",
        "round 8 done after 9.0 s: a broker is down; 5 moves, 1 GB",
        "differs: 900 × a broker is down",
        (
            "holds. It does nothing by itself now. 2 brokers of 6 are down (3, 4); it holds from 2 on "
            "(`hold.brokersDown`)."
        ),
    ]


def test_the_log_of_a_loop_that_takes_over_says_no_round_of_the_one_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    waits = msgspec.structs.replace(acting(), state=LoopState.WAITING_FOR_LEASE, rounds=())
    with Watching().watchers([]) as watchers:
        watchers.changed(waits)
        watchers.changed(msgspec.structs.replace(acting(), at=NOW + 60))
    assert ": round " not in capsys.readouterr().err


def test_each_line_of_a_json_log_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    with Watching(log_format="json", listen="127.0.0.1:0").watchers([]) as watchers:
        for status in (acting(), holding(), at_rest()):
            watchers.changed(status)
        note("note: a name with \u202e and\na line feed")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == [
        *("listening", "differs", "state", "differs", "state", "differs", "state", "note"),
    ]
    assert all(line["time"].endswith("Z") and line["text"] for line in lines)
    (held,) = [
        line for line in lines if line.get("state") == "holding" and line["event"] == "state"
    ]
    assert held["reasons"] == [{"is": "brokers-down", "down": [3, 4], "registered": 6, "most": 2}]
    assert held["before"] == "acting"


@pytest.mark.parametrize(
    ("watching", "error"),
    [
        (Watching(listen="nowhere"), BadUsage),
        (Watching(notify="ftp://hooks.example/SECRET"), BadUsage),
        (Watching(proposals=Path("/dev/null/out")), BadFile),
    ],
)
def test_a_mistake_is_named_before_anything_is_done(
    watching: Watching, error: type[Exception]
) -> None:
    with pytest.raises(error) as problem, watching.watchers([]):
        pass
    assert "SECRET" not in str(problem.value)


def test_what_is_not_asked_for_is_not_imported() -> None:
    assert "replan.commands.observing.watchers" in sys.modules
    loaded = open_in_a_process()
    assert not loaded & {"prometheus_client", "http.server", "urllib.request"}


def open_in_a_process() -> set[str]:
    """The modules of a process that watches by its log alone."""
    program = (
        "import sys\nfrom replan.commands.observing.watchers import Watching\n"
        "with Watching().watchers([]):\n    print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())
