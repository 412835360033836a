"""How a story is read, told, compared, and refused where it means nothing."""

import pytest

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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "teleport 3",
            (
                "story.txt:3: unknown command `teleport`; known: abandon, apply, at, cancel, clear, "
                "cluster, controller, cordon, crash, disk, drift, elect, fence, flap, forbid, foreign, "
                "interrupt, journal, kill, lag, looks, lose, metadata, placement, plan, produce, "
                "rebalance, repeated, replace, restart, resume, rollback, show, silence, slow, start, "
                "status, stop, throttles, tick, topic, uncordon, unfence, unknown, unregister, "
                "unresponsive"
            ),
        ),
        ("kill", "story.txt:3: a broker is missing; the form is: kill BROKER [for TIME]"),
        ("kill three", "story.txt:3: three is not a whole number, e.g. 3"),
        ("kill 9", "story.txt:3: there is no broker 9; registered: 1, 2, 3, 4"),
        ("kill 3 gently", "story.txt:3: unexpected `gently`"),
        ("tick 30", "story.txt:3: 30 is not a time, e.g. 30s, 2m or 1h"),
        ("topic clicks", "story.txt:3: a replica list is missing, e.g. [1,2,3]"),
        ("topic clicks [1,9]", "story.txt:3: Kafka would answer 39 INVALID_REPLICA_ASSIGNMENT: "),
        ("lag orders-7 broker 2 by 1MB", "story.txt:3: there is no partition orders-7"),
        ("lag orders-0 broker 2 by much", "story.txt:3: much is not a size, e.g. 60MB"),
        ("foreign dance", "story.txt:3: unknown fault `foreign dance`; the faults are:\n"),
        ("foreign reassign orders-0 [1,b]", "story.txt:3: [1,b] is not a replica list, e.g. [1,2,3]"),
        ("placement", "story.txt:3: a placement has its YAML in the lines below it, indented"),
        ("plan", "story.txt:3: nothing is declared yet; write a `placement` first"),
        ("resume", "story.txt:3: no application is open"),
        ("crash", "story.txt:3: no process is running"),
        ("at 5s apply", "story.txt:3: unknown fault `apply`; the faults are:\n"),
        ("show\ntopic clicks [1]", "story.txt:4: the cluster is in use; write this before the first "),
        ("cluster brokers 1-3 version 2.8", "story.txt:3: Kafka '2.8' is not simulated; "),
        ("kill 3\n  now", "story.txt:3: `kill` has no lines below it"),
        ("  orphan", "story.txt:2: `topic` has no lines below it; commands begin at the margin"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_reported_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(BadScenario) as refused:
        output(text + "\n")
    assert str(refused.value).startswith(problem)


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
