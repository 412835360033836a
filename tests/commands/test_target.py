"""Which cluster the options name, or the environment; how a later command names it; where its journal is."""

from pathlib import Path

import pytest

from replan.commands.journals import journal_path
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
    target = LiveTarget("kafka-1:9092", PROPERTIES, journal=Path("j"))
    assert target.words() == [
        *("--bootstrap-server", "kafka-1:9092"),
        *("--command-config", "client.properties", "--journal", "j"),
    ]


def test_a_journal_lies_beside_the_simulated_file_or_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert journal_path(LiveTarget(simulated=FILE), "x") == Path("cluster.json.journal")
    assert journal_path(LiveTarget("a:1"), "MkU3-_x") == tmp_path / "replan" / "MkU3-_x.journal"
    assert journal_path(LiveTarget("a:1", journal=Path("j")), "../x") == Path("j")


@pytest.mark.parametrize("cluster_id", ["../../etc/x", "", ".", "a/b", "a\n", "x" * 200])
def test_a_cluster_id_that_is_no_file_name_makes_no_path(cluster_id: str) -> None:
    with pytest.raises(BadUsage, match="name the journal with --journal FILE"):
        journal_path(LiveTarget("a:1"), cluster_id)
