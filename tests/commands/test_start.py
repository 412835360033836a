"""The command answers at once: what is heavy is imported by the command that needs it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commandline import checked, python

pytestmark = pytest.mark.command
EXAMPLE = Path(__file__).parents[2] / "examples" / "move"
HEAVY = {
    "replan.planning.placing.choose",
    *("confluent_kafka", "deepdiff", "jsonschema", "kafka", "numpy", "numpy.ma", "pandas"),
    *("http.server", "prometheus_client", "pyarrow", "pyarrow.compute", "pyarrow.parquet"),
    *("pyspark", "rich", "yaml"),
    *(
        "replan.applying",
        "replan.applying.journal.ledger",
        "replan.kafka",
        "replan.rehearsal",
        "replan.scenarios",
        "replan.simulator",
    ),
}
COLUMNS = {"numpy", "pyarrow"}
SETTINGS = {"replan.applying"}
APPLYING = SETTINGS | {"replan.applying.journal.ledger"}
FROM = ("--snapshot", "cluster.json")
IMPORTS: dict[tuple[str, ...], set[str]] = {
    ("--version",): {"confluent_kafka", "kafka", "replan.kafka"},
    ("--help",): set(),
    ("plan", "--help"): set(),
    ("apply", "--help"): set(),
    ("scenario", "run", "--help"): set(),
    ("fleet", "drift", "--help"): set(),
    ("elect", "preferred", "--help"): set(),
    ("reconcile", "--help"): set(),
    ("validate",): {"yaml"},
    ("validate", "-f", "wrong.yaml"): {"yaml", "jsonschema"},
    ("export", *FROM): COLUMNS,
    ("snapshot", *FROM, "-o", "copy.json"): COLUMNS,
    ("snapshot", *FROM, "-o", "copy"): COLUMNS | {"pyarrow.compute", "pyarrow.parquet"},
    ("plan", *FROM, "-f", "as-it-is.yaml"): COLUMNS | {"yaml", *SETTINGS},
    ("plan", *FROM): COLUMNS | {"yaml", *APPLYING, "replan.rehearsal", "replan.simulator"},
    ("drift", *FROM): COLUMNS | {"numpy.ma", "yaml"},
    ("status", *FROM): COLUMNS | APPLYING,
    ("show", "plan.json"): COLUMNS | SETTINGS,
    ("rehearse", "plan.json", *FROM): COLUMNS | {*APPLYING, "replan.rehearsal", "replan.simulator"},
}
"""What each command imports of HEAVY; whatever else it comes to import shall be a decision."""
PROGRAM = """
import sys
from replan.main import Replan
from replan.main import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster, a placement that moves, one that moves nothing, a wrong one, and a plan."""
    path = tmp_path_factory.mktemp("start")
    for name in ("cluster.json", "placement.yaml"):
        shutil.copy(EXAMPLE / name, path)
    (path / "wrong.yaml").write_text("version: 1\nassignment: {}\n")
    checked("export", *FROM, "-o", "as-it-is.yaml", folder=path)
    checked("plan", *FROM, "-o", "plan.json", folder=path, wanted=2)
    return path


@pytest.mark.parametrize("arguments", IMPORTS, ids=" ".join)
def test_a_command_imports_what_it_needs(arguments: tuple[str, ...], folder: Path) -> None:
    assert imported(arguments, folder) == IMPORTS[arguments]


ADAPTER = COLUMNS | {"kafka", "replan.kafka"}
FROM_BROKERS: dict[tuple[str, ...], set[str]] = {
    ("export",): ADAPTER,
    ("snapshot", "-o", "copy.json"): ADAPTER | APPLYING,
    ("status",): ADAPTER | APPLYING,
    ("plan", "-f", "as-it-is.yaml"): ADAPTER | {"yaml", *APPLYING},
    ("plan", "-f", "moves.yaml"): ADAPTER
    | {"yaml", *APPLYING, "replan.rehearsal", "replan.simulator"},
    ("drift", "-f", "as-it-is.yaml"): ADAPTER | {"numpy.ma", "yaml", *APPLYING},
    ("apply", "-f", "as-it-is.yaml", "--auto-approve"): ADAPTER | {"yaml", *APPLYING},
}
"""The same of commands on brokers."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a cluster, and a folder with a placement that is as it is, and one that moves."""
    from tests.kafka.harness.fake_cluster import FakeCluster, Shape

    path = tmp_path_factory.mktemp("brokers")
    (path / "moves.yaml").write_text(
        "version: 1\nassignments: {t00000: {partitions: {0: [3, 2, 1]}}}\n"
    )
    with FakeCluster(Shape(brokers=3)) as cluster:
        exported = ("export", "-o", "as-it-is.yaml", "--bootstrap-server", cluster.bootstrap)
        checked(*exported, folder=path)
        yield cluster.bootstrap, path


@pytest.mark.kafka
@pytest.mark.parametrize("arguments", FROM_BROKERS, ids=" ".join)
def test_a_command_on_brokers_imports_what_it_needs(
    arguments: tuple[str, ...], brokers: tuple[str, Path]
) -> None:
    address, folder = brokers
    assert imported((*arguments, "--bootstrap-server", address), folder) == FROM_BROKERS[arguments]


def test_the_end_of_a_process_looks_for_no_cycles(folder: Path) -> None:
    ending = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))"
    program = f"{ending}\nfrom replan.__main__ import main; main()"
    done = python("-c", program, "plan", *FROM, folder=folder)
    frozen, others = map(int, done.stdout.splitlines()[-1].split())
    assert frozen > 10_000
    assert others < 1_000


def imported(arguments: tuple[str, ...], folder: Path) -> set[str]:
    """Which of HEAVY a command imports."""
    done = python("-c", PROGRAM, *arguments, folder=folder, XDG_STATE_HOME=str(folder))
    return HEAVY & set(done.stderr.split())
