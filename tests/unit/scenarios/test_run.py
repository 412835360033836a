"""How a story is read, told, compared, and refused where it means nothing."""

from pathlib import Path

import pytest
from tests.goldens import check_cases

from replan.errors import BadScenario
from replan.scenarios.api import ScenarioRun, read_blocks, rewritten, run_scenario, write_blocks

BEGINNING = "cluster brokers 1-4 racks a,b\ntopic orders [1,2,3] size 10MB\n"


def output(text: str) -> ScenarioRun:
    return run_scenario(BEGINNING + text, "story.txt")


def test_a_story_that_ends_as_it_is_written_has_no_difference() -> None:
    run = output("\nshow\n----\norders-0: replicas [1,2,3], in sync [1,2,3], leader 1\n")
    assert run.passed
    assert run.difference() == ""
    assert run.output == run.written


def test_a_difference_names_the_line_and_shows_a_unified_diff() -> None:
    run = output(
        "\nshow\n----\norders-0: replicas [1,2,3], in sync [1,2], leader 1\n\n# The end.\n"
    )
    assert run.difference().splitlines() == [
        "story.txt:4: output differs: `show`",
        "--- story.txt (as written)",
        "+++ story.txt (now)",
        "@@ -3,6 +3,6 @@",
        " ",
        " show",
        " ----",
        "-orders-0: replicas [1,2,3], in sync [1,2], leader 1",
        "+orders-0: replicas [1,2,3], in sync [1,2,3], leader 1",
        " ",
        " # The end.",
    ]


def test_rewriting_gives_the_output_of_the_next_run() -> None:
    once = output("# Prose.\nkill 3\ntick 10s\nshow\n# More prose.\nthrottles\n").output
    assert once == (
        BEGINNING
        + """\
# Prose.
kill 3
tick 10s
----
9s    broker 3 is fenced
9s    orders-0: in sync [1,2]

show
----
orders-0: replicas [1,2,3], in sync [1,2], leader 1

# More prose.
throttles
----
none
"""
    )
    assert run_scenario(once, "story.txt").passed


def test_a_command_without_output_loses_its_rule() -> None:
    assert output("kill 3\n----\nsomething\n").output == BEGINNING + "kill 3\n"


@pytest.mark.parametrize(
    "text", ["", "# Prose.\n", "a\n", "a\n  b\n----\nc\n\n\n# d\ne\n----\nf\n"]
)
def test_reading_and_writing_the_same_changes_nothing(text: str) -> None:
    blocks, below = read_blocks(text)
    assert write_blocks(blocks, [b.output for b in blocks], below).strip("\n") == text.strip("\n")


WRONG = [
    "teleport 3",
    "kill",
    "kill three",
    "kill 9",
    "kill 3 gently",
    "tick 30",
    "topic clicks",
    "topic clicks [1,9]",
    "topic clicks [1,2]*99999999999",
    "disk 1-2147483647 total 1GB usable 400MB",
    "lag orders-7 broker 2 by 1MB",
    "lag orders-0 broker 2 by much",
    "foreign dance",
    "foreign reassign orders-0 [1,b]",
    "placement",
    "plan",
    "resume",
    "crash",
    "at 5s apply",
    "show\ntopic clicks [1]",
    "cluster brokers 1-3 version 2.8",
    "kill 3\n  now",
    "  orphan",
]


def test_what_means_nothing_is_reported_with_its_line() -> None:
    told: list[tuple[str, str]] = []
    for text in WRONG:
        with pytest.raises(BadScenario) as refused:
            output(text + "\n")
        told.append((text.replace("\n", " | "), str(refused.value)))
    check_cases(Path(__file__).parent / "goldens" / "wrong.txt", told)


def test_a_plan_after_a_wrong_placement_says_what_is_wrong_with_that() -> None:
    with pytest.raises(BadScenario) as refused:
        output("placement\n  assignments: {orders: {partitions: {0: [1, 2, 2]}}}\nplan\n")
    wrong, why = str(refused.value).splitlines()
    assert wrong == "story.txt:5: nothing is declared, since the placement is wrong"
    assert why.startswith("story.txt:4:")
    assert "broker 2 is listed twice" in why


def test_a_story_without_a_cluster_gets_advice_how_to_begin() -> None:
    for text in ("show\n", "topic orders [1]\n", "kill 3\n"):
        with pytest.raises(
            BadScenario, match=r"^s:1: there is no cluster yet; begin with `cluster"
        ):
            run_scenario(text, "s")
    with pytest.raises(BadScenario, match=r"^s: no command in it; a scenario begins with `cluster"):
        run_scenario("# Only prose.\n", "s")


def test_what_names_its_own_lines_is_written_down_with_the_lines_that_it_has_then() -> None:
    run = output(
        "kill 3\ntick 10s\nplacement\n  blacklists: {leaders: [{broker: 1, reviewBy: 2025-01-01}]}\nplan\n"
    )
    assert run_scenario(rewritten(run), "story.txt").passed


def test_a_process_that_still_runs_at_the_end_of_a_story_is_let_die() -> None:
    run = output(
        "placement\n  assignments: {orders: {partitions: {0: [1, 2, 4]}}}\napply until orders-0 expanded\n"
    )
    assert run.output.splitlines()[-1] == "running, 0.0 s: 0 of 1 step done, 1 running"


def test_what_happens_at_a_moment_happens_while_the_application_runs() -> None:
    run = output(
        "placement\n  assignments: {orders: {partitions: {0: [1, 2, 4]}}}\n"
        "at 5s foreign reassign orders-0 [1,9]\napply\n"
    )
    assert (
        "5s    refused: 39 INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes broker 9, "
        "but no such broker is registered."
    ) in run.output.splitlines()
