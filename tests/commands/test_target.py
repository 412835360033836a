"""Which cluster the options name, or the environment; how a later command names it; where its journal is."""

from pathlib import Path

import pytest
from typer import BadParameter

from replan.commands.journal_place import place
from replan.commands.journals import place_of
from replan.commands.target import (
    BOOTSTRAP_VARIABLE,
    CONFIG_VARIABLE,
    JournaledTarget,
    LiveTarget,
    OptionalTarget,
)
from replan.errors import BadUsage

FILE, PROPERTIES = Path("cluster.json"), Path("client.properties")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (BOOTSTRAP_VARIABLE, CONFIG_VARIABLE, "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_one_cluster_is_named_and_no_more() -> None:
    with pytest.raises(BadUsage, match="name exactly one cluster: --bootstrap-server"):
        JournaledTarget()
    with pytest.raises(BadUsage, match="name exactly one cluster: --bootstrap-server"):
        JournaledTarget(simulated=FILE, snapshot=FILE)
    with pytest.raises(BadUsage, match="--command-config goes with --bootstrap-server"):
        JournaledTarget(simulated=FILE, command_config=PROPERTIES)


def test_only_some_commands_do_without_a_cluster() -> None:
    assert not OptionalTarget().is_named
    with pytest.raises(BadUsage, match="name one cluster: "):
        OptionalTarget(simulated=FILE, snapshot=FILE)


def test_the_environment_names_a_cluster_where_no_option_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, "kafka-1:9092")
    monkeypatch.setenv(CONFIG_VARIABLE, str(PROPERTIES))
    real = LiveTarget()
    assert (real.bootstrap_server, real.command_config) == ("kafka-1:9092", PROPERTIES)
    assert not LiveTarget(simulated=FILE).is_real
    assert real.words() == []


def test_a_later_command_is_typed_with_the_same_options() -> None:
    target = LiveTarget("kafka-1:9092", PROPERTIES, journal=place("file:j"))
    assert target.words() == [
        *("--bootstrap-server", "kafka-1:9092"),
        *("--command-config", "client.properties", "--journal", "file:j"),
    ]


def test_the_journal_is_a_topic_of_a_real_cluster_and_a_file_beside_a_simulated_one() -> None:
    assert str(place_of(LiveTarget(simulated=FILE))) == "file:cluster.json.journal"
    assert str(place_of(LiveTarget("a:1"))) == "topic:__replan_journal"
    assert str(place_of(LiveTarget("a:1", journal=place("topic:mine")))) == "topic:mine"
    assert str(place_of(LiveTarget("a:1", journal=place("file:j:k")))) == "file:j:k"


@pytest.mark.parametrize("text", ["j", "topic:", "topic:a b", "topic:..", "file:", "dir:x", ""])
def test_what_is_no_place_of_a_journal_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="write topic:NAME or file:PATH"):
        place(text)


def test_a_simulated_cluster_has_no_topic_for_the_journal() -> None:
    with pytest.raises(BadUsage, match="goes with --bootstrap-server"):
        LiveTarget(simulated=FILE, journal=place("topic:mine"))
