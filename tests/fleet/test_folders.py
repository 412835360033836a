"""Two folders as a fleet: which files are snapshots and placements, which belong together, what is said of the rest."""

from pathlib import Path

import pytest
from tests.builders import CLUSTER_ID, OBSERVED_AT, titled
from tests.commandline import python
from tests.fleet.fleets import BAD, CLOCK, found_in, observed

from replan.errors import BadFile, BadUsage, ReplanError
from replan.fleet.api import (
    DRIFT_STAGES,
    Engine,
    Lake,
    RowsInLake,
    SparkTarget,
    Todo,
    find_placements,
    find_snapshots,
    from_folders,
    judged_folders,
    require,
)
from replan.snapshots.api import write_snapshot

BELOW = "assignments:\n  orders:\n    partitions: [[1, 2, 3]]\n"
ANY = f"version: 1\n{BELOW}"


def of(cluster: str) -> str:
    """A placement that says of which cluster it is."""
    return f"version: 1\ncluster: {{{cluster}}}\n{BELOW}"


def make(home: Path, *names: str) -> Path:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return home


class Folders:
    """Snapshots and placements, as a test puts them there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for name in ("snapshots", "placements"):
            (home / name).mkdir()

    def seen(self, name: str, cluster: str = CLUSTER_ID, at: str = OBSERVED_AT) -> Path:
        path = self.home / "snapshots" / name
        path.parent.mkdir(exist_ok=True)
        write_snapshot(observed(BAD, at, cluster_id=cluster), path)
        return path

    def declared(self, name: str, text: str = ANY) -> Path:
        path = self.home / "placements" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def todo(self) -> Todo:
        folders = self.home / "snapshots", self.home / "placements"
        return from_folders(*folders, Lake(str(self.home / "lake")), CLOCK)

    def pairs(self) -> list[tuple[str, str]]:
        return sorted((task.cluster, task.cluster_id) for task in self.todo().tasks)

    def messages(self) -> list[tuple[str, str]]:
        return sorted((error.cluster, error.message) for error in self.todo().errors)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_snapshots_are_found_in_both_forms_and_at_any_depth(tmp_path: Path) -> None:
    make(
        tmp_path,
        "eu/2026-11-20/header.json",
        "eu/2026-11-21/header.json",
        "eu/2026-11-21/topics.parquet",
        "us.json",
        "torn/partitions.parquet",
        "README.md",
        "empty/nothing.txt",
        ".us.json.partial",
        "eu/.2026.partial/header.json",
    )
    found = [(name, str(path.relative_to(tmp_path))) for name, path in find_snapshots(tmp_path)]
    assert found == [
        ("eu", "eu/2026-11-20"),
        ("eu", "eu/2026-11-21"),
        ("torn", "torn"),
        ("us", "us.json"),
    ]


def test_a_link_that_leads_back_is_not_followed_for_ever(tmp_path: Path) -> None:
    make(tmp_path, "eu/now/header.json")
    (tmp_path / "eu" / "again").symlink_to(tmp_path)
    assert len(find_snapshots(tmp_path)) < 10


def test_placements_are_yaml_files_and_folders(tmp_path: Path) -> None:
    make(tmp_path, "eu.v2.yaml", "us.yml", "asia.v2/orders.yaml", "README.md", ".git/config")
    assert [name for name, _ in find_placements(tmp_path)] == ["asia.v2", "eu.v2", "us"]


def test_a_fleet_without_snapshots_or_placements_is_refused(tmp_path: Path) -> None:
    snapshots, placements = tmp_path / "s", tmp_path / "p"
    lake = Lake(str(tmp_path / "lake"))

    def refused() -> str:
        with pytest.raises(BadFile) as raised:
            from_folders(snapshots, placements, lake, CLOCK)
        return str(raised.value)

    assert refused() == f"{snapshots}: cannot read: No such file or directory"
    snapshots.mkdir()
    placements.mkdir()
    assert refused() == (
        f"{snapshots}: there is no snapshot in this folder; "
        f"`replan snapshot -o {snapshots}/CLUSTER` writes one"
    )
    make(snapshots, "eu.json")
    assert refused() == (
        f"{placements}: there is no placement in this folder: "
        "it should hold a YAML file or a folder for each cluster"
    )


def test_a_placement_belongs_to_the_cluster_whose_id_it_says(folders: Folders) -> None:
    folders.seen("a", "one")
    folders.seen("b", "two")
    folders.declared("b.yaml", of("id: one"))
    found = folders.todo()
    assert [(task.cluster, task.cluster_id) for task in found.tasks] == [("b", "one")]
    assert (found.undeclared, found.errors) == (("b",), ())


def test_without_an_id_it_belongs_to_the_snapshot_of_its_own_name(folders: Folders) -> None:
    folders.seen("a.json", "one")
    folders.seen("b", "two")
    folders.declared("a.yaml")
    folders.declared("x/all.yaml", of("name: b"))
    assert folders.pairs() == [("a", "one"), ("b", "two")]
    assert (folders.todo().errors, folders.todo().undeclared) == ((), ())


def test_a_placement_of_several_files_names_its_cluster_in_one_of_them(folders: Folders) -> None:
    folders.seen("us", "one")
    folders.declared("asia/a.yaml")
    folders.declared("asia/b.yaml", "version: 1\ncluster: {name: eu, id: one}\n")
    assert folders.pairs() == [("eu", "one")]


@pytest.mark.parametrize("names", [("1", "2", "3"), ("3", "1", "2"), ("2", "3", "1")])
def test_of_several_snapshots_the_newest_counts_to_the_fraction_of_a_second(
    folders: Folders, names: tuple[str, str, str]
) -> None:
    times = ("2026-11-21T03:00:00Z", "2026-11-21T03:00:00.25Z", "2026-11-20T23:59:59Z")
    for name, at in zip(names, times, strict=True):
        folders.seen(f"a/{name}.json", "one", at)
    folders.declared("a.yaml")
    (task,) = folders.todo().tasks
    assert (task.observed_at, folders.todo().older) == (times[1], 2)


def test_of_two_equally_old_snapshots_the_last_by_path_counts(folders: Folders) -> None:
    folders.declared("a.yaml")
    folders.seen("a/1.json", "one")
    torn = folders.seen("a/2", "one")
    (torn / "partitions.parquet").write_bytes(b"")
    ((_, message),) = folders.messages()
    assert message.startswith(f"{torn / 'partitions.parquet'}: ")


@titled(
    "seen declared said",
    [
        (
            "no snapshot",
            {"c": "three"},
            {"a.yaml": ANY, "b.yaml": of("name: beta, id: gone")},
            {
                "a": "no readable snapshot is named a; name it so, or say `cluster.id`",
                "beta": "no readable snapshot of cluster gone",
            },
        ),
        (
            "a name of two clusters",
            {"a/1": "one", "a/2": "two"},
            {"a.yaml": ANY},
            {
                "a": "snapshots of 2 clusters are named a (one, two); say which one is meant with `cluster.id`"
            },
        ),
        (
            "two placements",
            {"a": "one"},
            {"a.yaml": ANY, "b.yaml": of("id: one")},
            {
                "a": "cluster one has another placement, HERE/b.yaml; keep one",
                "b": "cluster one has another placement, HERE/a.yaml; keep one",
            },
        ),
    ],
)
def test_what_does_not_belong_together_is_an_error_and_is_not_compared(
    folders: Folders, seen: dict[str, str], declared: dict[str, str], said: dict[str, str]
) -> None:
    for name, cluster in seen.items():
        folders.seen(name, cluster)
    for name, text in declared.items():
        folders.declared(name, text)
    found = [
        (name, text.replace(str(folders.home / "placements"), "HERE"))
        for name, text in folders.messages()
    ]
    assert found == sorted(said.items())
    assert folders.todo().tasks == ()


def test_two_clusters_that_their_placements_call_the_same_are_both_errors(folders: Folders) -> None:
    for one in ("a", "b"):
        folders.seen(one, one)
        folders.declared(f"{one}.yaml", of(f"name: eu, id: {one}"))
    said = "calls its cluster eu, too; give each a `cluster.name` of its own"
    found = [(name, text.partition(".yaml ")[2]) for name, text in folders.messages()]
    assert found == [("eu", said)] * 2
    assert (folders.todo().tasks, folders.todo().undeclared) == ((), ())


def test_a_source_that_cannot_be_read_is_an_error_and_its_namesake_is_not_called_undeclared(
    folders: Folders,
) -> None:
    folders.seen("a", "one")
    placement = folders.declared("a.yaml", "version: [\n")
    torn = folders.home / "snapshots" / "b.json"
    torn.write_text("{")
    assert [(name, text.partition(":")[0]) for name, text in folders.messages()] == [
        ("a", str(placement)),
        ("b", str(torn)),
    ]
    assert folders.todo().undeclared == ()


def test_of_a_placement_of_no_cluster_its_own_mistake_is_said_with_its_line(
    folders: Folders,
) -> None:
    folders.seen("a", "one")
    path = folders.declared("eu.yaml", f"{ANY}cluster: {{nam: eu}}\n")
    ((cluster, message),) = folders.messages()
    assert (cluster, message.startswith(f"{path}:5:")) == ("eu", True)


def test_the_lake_of_a_run_is_gone_with_it(folders: Folders, tmp_path: Path) -> None:
    folders.seen("eu", "one")
    folders.declared("eu.yaml")
    sides, here = (tmp_path / "snapshots", tmp_path / "placements"), SparkTarget(Engine.LOCAL)
    with judged_folders(*sides, DRIFT_STAGES, here, CLOCK) as found:
        assert (found.rows["judged"].num_rows, found.rows["declared"].num_rows) == (1, 1)
        assert isinstance(found.rows, RowsInLake)
        home = Path(found.rows.lake.address).parent
        assert home.is_dir()
    assert not home.exists()


def test_executors_elsewhere_need_an_output_that_they_see(folders: Folders, tmp_path: Path) -> None:
    folders.seen("eu", "one")
    folders.declared("eu.yaml")
    with pytest.raises(BadUsage) as refused:
        found_in(tmp_path, where=SparkTarget(master="spark://host:7077"))
    assert str(refused.value) == (
        "with --master spark://host:7077 the executors need a folder that all of them see: "
        "a lake there, or with two folders an --output there"
    )


def test_without_a_package_the_way_to_it_is_said() -> None:
    with pytest.raises(ReplanError) as refused:
        require("the engine spark", "nowhere", "pyspark[connect]")
    assert str(refused.value) == (
        "the engine spark needs nowhere, which is not installed: pip install 'pyspark[connect]'"
    )


@pytest.mark.command
def test_importing_the_entry_point_and_the_report_imports_no_spark(tmp_path: Path) -> None:
    script = (
        "import sys, replan.fleet.folders, replan.fleet.run_text; "
        "sys.exit('pyspark' in sys.modules or 'pandas' in sys.modules)"
    )
    assert python("-c", script, folder=tmp_path).returncode == 0
