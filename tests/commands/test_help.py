"""`--help` of every command: each argument and option explained, exit codes listed, two examples that hold."""

import re
import shlex

import click
import pytest
from tests.commandline import built

from replan.applying.api import Settings
from replan.commands.api import Pace
from replan.errors import Exit
from replan.main import Replan, app


def examples(command: click.Command) -> list[str]:
    """The lines under `Examples:`."""
    _, _, after = (command.epilog or "").partition("Examples:\n")
    return [line.strip() for line in after.splitlines()]


every_command = pytest.mark.parametrize("words", sorted(Replan.table))


@every_command
def test_every_argument_and_option_is_explained(words: str) -> None:
    for parameter in built(words).params:
        assert parameter.help, parameter.name


@every_command
def test_exit_codes_are_listed_and_exist(words: str) -> None:
    listed = re.findall(r"^  (\d+)  +\S", built(words).epilog or "", re.MULTILINE)
    assert {"0", "1"} <= set(listed)
    assert {int(code) for code in listed} <= set(Exit)


@every_command
def test_help_ends_with_two_examples_that_can_be_typed(words: str) -> None:
    command = built(words)
    found = examples(command)
    assert len(found) == 2
    for example in found:
        program, *typed = shlex.split(example)
        asked = [word for word in words.split() if not word.isupper()]
        assert [program, *typed[: len(asked)]] == ["replan", *asked]
        command.make_context(words, typed[len(asked) :])


@every_command
def test_a_command_that_takes_a_cluster_says_how_many(words: str) -> None:
    command = built(words)
    takes_one = any(parameter.name == "bootstrap_server" for parameter in command.params)
    wanted = "Name one cluster" if words == "rehearse" else "Name exactly one cluster"
    assert (wanted in (command.help or "")) == takes_one


@every_command
def test_what_a_command_cannot_write_is_refused_when_its_options_are_read(words: str) -> None:
    with pytest.raises(click.UsageError):
        built(words).make_context(words, ["--format", "pdf"])


def test_a_command_that_does_not_exist_is_answered_with_the_nearest() -> None:
    with pytest.raises(click.UsageError) as refused:
        app(["plna"], standalone_mode=False)
    assert refused.value.message == "No such command 'plna'. Did you mean 'plan'?"


def test_a_word_that_is_no_rate_is_answered_with_what_one_is() -> None:
    with pytest.raises(click.UsageError) as refused:
        app(["throttle", "quickly"], standalone_mode=False)
    assert "RATE is a number with its unit" in refused.value.message


@pytest.mark.parametrize("words", [["-5MB/s"], ["--", "-5MB/s"]])
def test_a_rate_below_0_is_no_option(words: list[str]) -> None:
    with pytest.raises(click.UsageError) as refused:
        app(["throttle", *words], standalone_mode=False)
    assert refused.value.message.startswith("'-5MB/s' is below 0; write a rate, e.g. 50MB/s")


def test_an_option_is_suggested_only_where_one_is_near() -> None:
    found = []
    for option in ("--nope", "--sinc"):
        with pytest.raises(click.NoSuchOption) as refused:
            app(["plan", option], standalone_mode=False)
        found.append(refused.value.possibilities or [])
    assert found == [[], ["--since"]]


def test_no_seconds_at_all_are_a_duration_that_is_too_short() -> None:
    with pytest.raises(click.BadParameter, match="'0s' is too short"):
        app(["status", "--over", "0s"], standalone_mode=False)


def test_an_option_of_other_tools_says_what_does_it_here() -> None:
    command = built("apply")
    with pytest.raises(click.UsageError, match=r"`replan rehearse PLAN` does it on a simulator"):
        command.make_context("apply", ["plan.json", "--dry-run"])
    with pytest.raises(click.NoSuchOption):
        command.make_context("apply", ["plan.json", "--dry"])


def test_the_options_of_a_run_have_the_defaults_of_the_applier() -> None:
    assert Pace().settings() == Settings()
