"""A fleet that is wholly in an object store: what is found is what is found in folders, whatever the store answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.commandline import checked, replan
from tests.fleet.fleets import drawn_fleet, rows_of, write_fleet, write_fleet_file
from tests.fleet.stores import KEY, SECRET, Store, object_store

from replan.fleet.api import (
    PLANS,
    SNAPSHOTS,
    TABLES,
    Lake,
    from_spark,
    put_aside,
    read_aside,
    remove_files,
)

pytestmark = [pytest.mark.command, pytest.mark.slow]
SEEDS = (24, 25, 30)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with object_store() as running:
        yield running


@pytest.fixture(scope="module")
def home(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clusters in folders, judged, and the same in the store, not judged yet."""
    home = tmp_path_factory.mktemp("fleet")
    write_fleet(home, SEEDS)
    for file in sorted(home.rglob("*.*")):
        if file.is_file():
            store.put(str(file.relative_to(home)), file.read_bytes())
    write_fleet_file(home / "here.yaml", drawn_fleet(SEEDS))
    done = checked("fleet", "run", "--fleet", "here.yaml", folder=home, wanted=2)
    (home / "said").write_text(done.stdout)
    return home


def run(home: Path, lake: str, variables: dict[str, str], *options: str) -> CompletedProcess[str]:
    fleet = drawn_fleet(SEEDS, "s3a://ops/")
    write_fleet_file(home / f"{lake}.yaml", fleet, f"s3a://ops/{lake}")
    return replan("fleet", "run", "--fleet", f"{lake}.yaml", *options, folder=home, **variables)


def rows(lake: Lake) -> dict[str, list[str]]:
    """All rows; a plan says where its placement is, and so does its digest."""
    return rows_of(lake, less={PLANS.name: ["document", "digest"]})


def same(home: Path, store: Store, lake: str, done: CompletedProcess[str]) -> None:
    """It said what the run in folders has said, and left the same rows."""
    assert (done.stdout, done.returncode) == ((home / "said").read_text(), 2), done.stderr
    with reached(store):
        found = rows(Lake(f"s3a://ops/{lake}"))
    assert found == rows(Lake(str(home / "lake")))
    assert found["differences"]


@contextmanager
def reached(store: Store) -> Iterator[None]:
    """This process itself reads the store."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in store.variables.items():
            patch.setenv(name, value)
        yield


def test_a_fleet_in_a_store_is_judged_as_one_in_folders(home: Path, store: Store) -> None:
    done = run(home, "plain", store.variables, "-o", "report")
    same(home, store, "plain", done)
    written = store.contents()
    written |= {str(f): f.read_bytes() for f in (home / "report").rglob("*") if f.is_file()}
    for name, content in {**written, "said": (done.stdout + done.stderr).encode()}.items():
        assert KEY.encode() not in content, name
        assert SECRET.encode() not in content, name
    options = ("--lake", "s3a://ops/plain")
    done_too = replan("fleet", "maintain", *options, folder=home, **store.variables)
    assert done_too.returncode == 0, done_too.stderr
    same(home, store, "plain", done)


def test_a_part_of_a_giant_cluster_lies_in_the_store_as_long_as_its_run(store: Store) -> None:
    rows = pa.table({"topic": ["orders"]}).replace_schema_metadata({"part": "first"})
    with reached(store):
        lake = Lake("s3a://ops/aside")
        lake.begun(SNAPSHOTS)
        path = put_aside(lake, rows, ".replan-fleet-run")
        assert f"aside/snapshots/{path}" in "".join(store.contents())
        found = read_aside(lake, path)
        assert (found, found.schema.metadata) == (rows, rows.schema.metadata)
        remove_files(lake, SNAPSHOTS, [path])
    assert path not in "".join(store.contents())


@pytest.mark.nightly
def test_the_key_may_be_that_of_a_profile(home: Path, store: Store, tmp_path: Path) -> None:
    keys = f"aws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    (tmp_path / "credentials").write_text(f"[ops]\n{keys}")
    profile = {"AWS_PROFILE": "ops", "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials")}
    same(home, store, "profile", run(home, "profile", {**store.place, **profile}))


@pytest.mark.nightly
def test_the_key_may_be_that_of_sparks_settings(home: Path, store: Store, tmp_path: Path) -> None:
    lines = {"endpoint": store.url, "access.key": KEY, "secret.key": SECRET}
    text = "".join(f"spark.hadoop.fs.s3a.{name} {value}\n" for name, value in lines.items())
    (tmp_path / "spark-defaults.conf").write_text(text)
    same(home, store, "of-spark", run(home, "of-spark", {"SPARK_CONF_DIR": str(tmp_path)}))


def test_what_spark_says_of_s3_has_a_variable_of_its_own() -> None:
    said = {"endpoint": "minio:9000", "connection.ssl.enabled": "false", "endpoint.region": "eu"}
    assert from_spark({f"spark.hadoop.fs.s3a.{k}": v for k, v in said.items()}) == {
        "AWS_ENDPOINT_URL": "http://minio:9000",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "eu",
    }
    assert from_spark({"spark.hadoop.fs.s3a.endpoint": "minio"}) == {
        "AWS_ENDPOINT_URL": "https://minio"
    }


@pytest.mark.nightly
def test_what_the_store_answers_late_or_refuses_is_asked_again(home: Path, store: Store) -> None:
    """Busy; slow; another process was faster, twice; a commit is done, and nobody hears of it."""

    def commit(table: str, version: str = r"\d+") -> str:
        return rf"^PUT /ops/odd/({table})/_delta_log/{version}\.json"

    busy = "503 Slow Down"
    store.fail(
        {"of": commit("judged"), "times": 1, "seconds": 3},
        {"of": commit("drift", "0+1"), "times": 2, "status": "412 Precondition Failed"},
        {"of": commit("costs|differences|snapshots"), "times": 9, "status": busy, "done": True},
        {"of": "/ops/odd/", "times": 5, "status": busy},
    )
    same(home, store, "odd", run(home, "odd", store.variables))


def test_a_commit_that_is_forbidden_ends_the_run_and_the_next_one_makes_good(
    home: Path, store: Store
) -> None:
    commits = r"^PUT /ops/denied/drift/_delta_log/\d+\.json"
    store.fail({"of": commits, "times": 99, "status": "403 Forbidden"})
    done = run(home, "denied", store.variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert "s3a://ops/denied/drift" in done.stderr
    assert "credentials" in done.stderr
    assert "Traceback" not in done.stderr
    store.fail()
    same(home, store, "denied", run(home, "denied", store.variables))
    found = store.contents()
    with reached(store):
        for table in TABLES.values():
            begin = f"denied/{table.name}"
            files = {n for n in found if n.startswith(f"{begin}/cluster") and "replan-fleet" in n}
            known = DeltaTable(f"s3a://ops/{begin}").file_uris() if files else []
            assert {n.rpartition("/")[2] for n in files} <= {n.rpartition("/")[2] for n in known}
