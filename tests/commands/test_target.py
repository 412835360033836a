"""Which cluster the options name, or the environment; how a later command names it; where its journal is."""

import shutil
from pathlib import Path

import pytest
from tests.commands.shell import EXAMPLE, Shell
from typer import BadParameter

from replan.commands.api import (
    BOOTSTRAP_VARIABLE,
    CONFIG_VARIABLE,
    DEFAULT_FILES,
    SIMULATED_VARIABLE,
    JournaledTarget,
    LiveTarget,
    OptionalTarget,
    journal_place,
    placement_files,
)
from replan.errors import BadUsage
from replan.model.api import TIMEOUT_SECONDS

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


def test_a_variable_that_is_empty_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pipeline leaves one whose secret is not there."""
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, "")
    monkeypatch.setenv(SIMULATED_VARIABLE, "")
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    with pytest.raises(BadUsage, match="name exactly one cluster: "):
        LiveTarget()
    assert LiveTarget("kafka-1:9092").command_config is None
    monkeypatch.setenv(SIMULATED_VARIABLE, str(FILE))
    assert LiveTarget().simulated == FILE


def test_a_later_command_is_typed_with_the_same_options() -> None:
    target = LiveTarget("kafka-1:9092", PROPERTIES, journal=journal_place("file:j"))
    assert target.words() == [
        *("--bootstrap-server", "kafka-1:9092"),
        *("--command-config", "client.properties", "--journal", "file:j"),
    ]


def test_the_journal_is_a_topic_of_a_real_cluster_and_a_file_beside_a_simulated_one() -> None:
    assert str(LiveTarget(simulated=FILE).journal_place) == "file:cluster.json.journal"
    assert str(LiveTarget("a:1").journal_place) == "topic:__replan_journal"
    assert str(LiveTarget("a:1", journal=journal_place("topic:mine")).journal_place) == "topic:mine"
    assert str(LiveTarget("a:1", journal=journal_place("file:j:k")).journal_place) == "file:j:k"


@pytest.mark.parametrize("text", ["j", "topic:", "topic:a b", "topic:..", "file:", "dir:x", ""])
def test_what_is_no_place_of_a_journal_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="write topic:NAME or file:PATH"):
        journal_place(text)


def test_a_simulated_cluster_has_no_topic_for_the_journal() -> None:
    with pytest.raises(BadUsage, match="goes with --bootstrap-server"):
        LiveTarget(simulated=FILE, journal=journal_place("topic:mine"))


FLEET = """\
version: 1
clusters:
  eu: {bootstrapServers: "kafka-1:9092", commandConfig: eu.properties, placement: eu/, timeout: 5s}
  sim: {simulated: sim.json, prices: {currency: EUR, crossRackPerGB: 0.02}}
  kept: {snapshot: kept.json}
  fed: {placement: fed/}
  bare: {bootstrapServers: "kafka-2:9092"}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    return tmp_path / "fleet.yaml"


def test_a_cluster_of_the_fleet_file_has_its_address_properties_placement_and_time(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, "another:9092")
    home = fleet.parent
    eu = LiveTarget(fleet_cluster="eu", fleet=fleet)
    assert (eu.bootstrap_server, eu.command_config) == ("kafka-1:9092", home / "eu.properties")
    assert (eu.placement, eu.timeout_seconds) == (home / "eu", 5.0)
    assert eu.words() == ["--cluster", "eu", "--fleet", str(fleet)]
    assert LiveTarget(fleet_cluster="eu", fleet=fleet, timeout=7).timeout_seconds == 7
    assert LiveTarget(fleet_cluster="sim", fleet=fleet).simulated == home / "sim.json"
    assert JournaledTarget(fleet_cluster="kept", fleet=fleet).snapshot == home / "kept.json"
    assert placement_files(None, eu) == [home / "eu"]


def test_properties_of_the_environment_are_not_for_a_cluster_of_the_fleet_file(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(PROPERTIES))
    assert LiveTarget(fleet_cluster="bare", fleet=fleet).command_config is None


def test_what_is_written_counts_although_it_is_the_default(fleet: Path) -> None:
    """`-f placement.yaml` and `--timeout 60s` beside a cluster whose entry says something else."""
    eu = LiveTarget(fleet_cluster="eu", fleet=fleet, timeout=TIMEOUT_SECONDS)
    assert eu.timeout_seconds == TIMEOUT_SECONDS
    assert placement_files(DEFAULT_FILES, eu) == DEFAULT_FILES
    assert placement_files([FILE], eu) == [FILE]
    assert placement_files(None) == DEFAULT_FILES


def test_the_fleet_file_is_the_one_of_this_folder(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet.parent)
    target = LiveTarget(fleet_cluster="sim")
    assert target.words() == ["--cluster", "sim"]
    assert target.simulated == Path("sim.json")


def test_a_plan_of_a_cluster_of_the_fleet_file_costs_what_prices_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shutil.copy(EXAMPLE / "placement.yaml", shell.placement)
    entry = "{simulated: cluster.json, placement: placement.yaml}"
    prices = "prices: {currency: EUR, crossRackPerGB: 0.02}"
    file = tmp_path / "fleet.yaml"
    file.write_text(f"version: 1\n{prices}\nclusters: {{demo: {entry}}}\n", encoding="utf-8")
    priced, _ = shell.run("plan", "--cluster", "demo", "--format", "markdown", wanted=2)
    assert "Copies between racks: " in priced
    assert " EUR." in priced
    file.write_text(f"version: 1\nclusters: {{demo: {entry}}}\n", encoding="utf-8")
    assert " EUR" not in shell.run("plan", "--cluster", "demo", "--format", "markdown", wanted=2)[0]


def test_a_cluster_of_the_fleet_file_is_the_only_one_and_can_be_asked(fleet: Path) -> None:
    with pytest.raises(BadUsage, match="leave the other options out"):
        LiveTarget("kafka-1:9092", fleet_cluster="eu", fleet=fleet)
    with pytest.raises(BadUsage, match="can only be read"):
        LiveTarget(fleet_cluster="kept", fleet=fleet)
    with pytest.raises(BadUsage, match="does not say how cluster fed is reached"):
        JournaledTarget(fleet_cluster="fed", fleet=fleet)
    with pytest.raises(BadUsage, match="the fleet has no cluster ue"):
        LiveTarget(fleet_cluster="ue", fleet=fleet)
    with pytest.raises(BadUsage, match="--fleet goes with --cluster"):
        LiveTarget("kafka-1:9092", fleet=fleet)
