"""Two folders as a fleet: which files are snapshots and placements, which belong together, what is said of the rest."""

from pathlib import Path

import pytest
from tests.builders import CLUSTER_ID, OBSERVED_AT
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


NAMED = {
    "in one line": of("name: eu, id: one"),
    "in a block": f"version: 1\ncluster:\n  name: eu\n\n# which one\n  id: one\n{BELOW}",
    "at the end": f"version: 1\n{BELOW}cluster:\n  name: eu\n  id: one",
    "in a flow": "{version: 1, cluster: {name: eu, id: one}}",
    "under a quoted key": f'version: 1\n"cluster": {{name: eu, id: one}}\n{BELOW}',
    "beside a comment": f"version: 1\n# cluster: {{name: x}}\ncluster: {{name: eu, id: one}} # here\n{BELOW}",
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_a_placement_names_its_cluster_however_it_is_written(folders: Folders, text: str) -> None:
    folders.seen("us", "one")
    folders.declared("asia.yaml", text)
    assert folders.pairs() == [("eu", "one")]


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


def test_a_placement_without_a_snapshot_is_an_error(folders: Folders) -> None:
    folders.seen("c", "three")
    folders.declared("a.yaml")
    folders.declared("b.yaml", of("name: beta, id: gone"))
    assert folders.messages() == [
        ("a", "no readable snapshot is named a; name it so, or say `cluster.id`"),
        ("beta", "no readable snapshot of cluster gone"),
    ]


def test_a_name_that_two_clusters_have_is_an_error(folders: Folders) -> None:
    folders.seen("a/1", "one")
    folders.seen("a/2", "two")
    folders.declared("a.yaml")
    said = (
        "snapshots of 2 clusters are named a (one, two); say which one is meant with `cluster.id`"
    )
    assert folders.messages() == [("a", said)]


def test_two_placements_of_one_cluster_are_both_errors_and_nothing_is_compared(
    folders: Folders,
) -> None:
    folders.seen("a", "one")
    first = folders.declared("a.yaml")
    second = folders.declared("b.yaml", of("id: one"))
    assert folders.todo().tasks == ()
    assert folders.messages() == [
        ("a", f"cluster one has another placement, {second}; keep one"),
        ("b", f"cluster one has another placement, {first}; keep one"),
    ]
    assert folders.todo().undeclared == ()


def test_two_clusters_that_their_placements_call_the_same_are_both_errors(folders: Folders) -> None:
    folders.seen("a", "one")
    folders.seen("b", "two")
    first, second = (
        folders.declared(f"{name}.yaml", of(f"name: eu, id: {one}"))
        for name, one in (("a", "one"), ("b", "two"))
    )
    assert folders.todo().tasks == ()
    assert folders.messages() == [
        ("eu", f"{first} calls its cluster eu, too; give each a `cluster.name` of its own"),
        ("eu", f"{second} calls its cluster eu, too; give each a `cluster.name` of its own"),
    ]
    assert folders.todo().undeclared == ()


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
