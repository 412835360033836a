"""The fleet file: what it means, and what is said where it is wrong."""

from decimal import Decimal
from pathlib import Path

import pytest

from replan.errors import BadPlacement, BadUsage
from replan.fleet.api import FleetCluster, check_cluster_name, read_fleet
from replan.model.api import Prices

WHOLE = """\
version: 1
lake: lake/
timeout: 1m
prices: {currency: EUR, crossRackPerGB: 0.02}
owners: {"*": platform, "payments-*": payments}
clusters:
  eu:
    bootstrapServers: kafka-1:9092,kafka-2:9092
    commandConfig: eu.properties
    placement: placements/eu/
    timeout: 500ms
    owners: {orders: sales}
  sim: {simulated: sim.json, prices: {currency: USD, perGBMonth: 1}}
  us: {snapshot: snapshots/us}
  fed: {}
"""


def written(home: Path, text: str) -> Path:
    file = home / "fleet.yaml"
    file.write_text(text)
    return file


def test_a_whole_file(tmp_path: Path) -> None:
    fleet = read_fleet(written(tmp_path, WHOLE))
    assert fleet.lake == str(tmp_path / "lake")
    assert list(fleet.clusters) == ["eu", "sim", "us", "fed"]
    everyone = {"*": "platform", "payments-*": "payments"}
    euro = Prices("EUR", Decimal("0.02"))
    assert fleet.cluster("eu") == FleetCluster(
        "eu",
        "kafka-1:9092,kafka-2:9092",
        tmp_path / "eu.properties",
        placement=tmp_path / "placements/eu",
        timeout_seconds=0.5,
        prices=euro,
        owners={**everyone, "orders": "sales"},
    )
    assert fleet.cluster("sim").prices == Prices("USD", None, Decimal(1))
    assert fleet.cluster("us").timeout_seconds == 60
    assert [c.is_asked for c in fleet.clusters.values()] == [True, True, True, False]


def test_the_most_particular_owner_counts(tmp_path: Path) -> None:
    eu = read_fleet(written(tmp_path, WHOLE)).cluster("eu")
    topics = ("orders", "payments-7", "clicks", None)
    assert [eu.owner_of(t) for t in topics] == ["sales", "payments", "platform", "platform"]


def test_whoever_owns_all_else_owns_internal_topics_too() -> None:
    """Drift of `__consumer_offsets` is somebody's; an entry that names internal topics counts before."""
    eu = FleetCluster("eu", owners={"*": "platform", "__c*": "groups", "orders": "sales"})
    topics = ("__consumer_offsets", "__transaction_state", "orders", "clicks", None)
    found = [eu.owner_of(topic) for topic in topics]
    assert found == ["groups", "platform", "sales", "platform", "platform"]


def test_a_lake_elsewhere_is_its_uri(tmp_path: Path) -> None:
    text = WHOLE.replace("lake/", "s3a://ops/replan")
    assert read_fleet(written(tmp_path, text)).lake == "s3a://ops/replan"


def test_a_cluster_that_the_fleet_has_not(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="the fleet has no cluster ue; it has eu, sim, us, fed"):
        read_fleet(written(tmp_path, WHOLE)).cluster("ue")


def test_a_name_in_the_lake_is_one_that_a_fleet_file_can_have(tmp_path: Path) -> None:
    for name in ("payments-eu", "_kU3OEVBNTcwNTJENDM2Qg"):
        check_cluster_name(name)
        assert name in read_fleet(written(tmp_path, WHOLE.replace("fed:", f"{name}:"))).clusters
    for name in ("payments/eu", "-eu", "", "é", "eu\n", "a" * 201):
        with pytest.raises(BadUsage, match="a fleet file cannot name it"):
            check_cluster_name(name)


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("version: 1", "version: 2", "1:10: version: 2 is not right"),
        ("lake: lake/", "lakes: lake/", '2:1: lakes: unknown key; did you mean "lake"?'),
        ("timeout: 1m", "timeout: 1", "3:10: timeout: 1 is a whole number"),
        ("timeout: 1m", 'timeout: "1m\\n"', "3:10: timeout: "),
        ("  us:", '  "us\\n":', '14:3: clusters."us\\n": "us\\n" is not right'),
        ("  fed: {}", "  -fed: {}", "15:3: clusters.-fed: "),
        ("  fed: {}", "  fed: 3", "15:8: clusters.fed: "),
        (
            "us: {snapshot",
            "us: {simulated: a.json, snapshot",
            "14:27: clusters.us.snapshot: simulated says already",
        ),
        (
            "us: {snapshot",
            "us: {commandConfig: a, snapshot",
            "14:8: clusters.us.commandConfig: goes with bootstrapServers",
        ),
        (
            "bootstrapServers: kafka-1:9092",
            "bootstrapServers: u:hunter2@kafka-1:9092",
            "8:5: clusters.eu.bootstrapServers: these are HOST:PORT",
        ),
        ("timeout: 1m", f"timeout: {'9' * 30}h", "3:10: timeout: "),
        ("currency: USD, ", "", "13:30: clusters.sim.prices: `currency` is missing"),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path: Path, before: str, after: str, place: str) -> None:
    file = written(tmp_path, WHOLE.replace(before, after))
    with pytest.raises(BadPlacement) as refused:
        read_fleet(file)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{file}:{place}")
    assert "hunter2" not in line
