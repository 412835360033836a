"""What a run says on the terminal, its exit code, and the folder of its tables."""

import csv
import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replan.errors import BadFile
from replan.fleet.api import (
    DRIFT,
    DRIFT_COLUMNS,
    ERRORS,
    JUDGED,
    ClusterFacts,
    FleetFacts,
    FleetRun,
    LakeRow,
    RowKey,
    key_of,
    named,
    publish,
    render_fleet_drift,
    rendered,
    sorted_table,
)

AT = "2026-11-21T03:00:00Z"
KEYS = {"day": date(2026, 11, 21), "hour": 3, "cluster_id": "one", "observed_at": AT}


def drifted(
    partition: int, kind: str, declared: list[int], observed: list[int], **more: Any
) -> dict[str, Any]:
    named = {"cluster": "eu", "topic": "orders", "partition": partition, "kind": kind}
    row = {"class": "operator", "declared": declared, "observed": observed}
    return {**KEYS, **named, **row, **more}


def cluster(name: str, partitions: int, drifted: int, converging: int) -> dict[str, Any]:
    numbers = {"partitions": partitions, "drifted": drifted, "converging": converging}
    return {**KEYS, "cluster": name, "digest": "d", **numbers, "acknowledged": 0}


def error(cluster: str, message: str = "m", stage: str = "drift") -> dict[str, Any]:
    said = {"stage": stage, "file": f"p/{cluster}.yaml", "message": message}
    return {**KEYS, "cluster": cluster, **said}


def fleet(
    rows: list[dict[str, Any]],
    clusters: list[dict[str, Any]],
    errors: list[dict[str, Any]],
    undeclared: tuple[str, ...] = (),
    older: int = 0,
) -> FleetRun:
    made = ((DRIFT, rows), (JUDGED, clusters), (ERRORS, errors))
    tables = {
        t.name: sorted_table(t.name, [pa.Table.from_pylist(rows, schema=t.schema)])
        for t, rows in made
    }
    return FleetRun(tables, undeclared, older)


ACKNOWLEDGED = drifted(5, "acknowledged", [], [], **{"class": "acknowledged"})
NOWHERE = {"topic": None, "partition": None}
EVERYTHING = fleet(
    [
        drifted(10, "partitions", [], [1, 2], leader=1, detail="declared 10, has 11"),
        drifted(1, "order", [1, 2], [2, 1], leader=2, owner="sales"),
        drifted(0, "missing", [1, 2], []),
        ACKNOWLEDGED,
        drifted(0, "throttle", [], [], detail="rate=1", broker=3) | NOWHERE,
    ],
    [cluster("us", 12345, 0, 2), cluster("eu", 30, 4, 0)],
    [
        error("x", "p/x.yaml:1:1: first\np/x.yaml:2:1: second"),
        error("b", "nobody answers", "collect"),
    ],
    ("lab",),
    1,
)


def test_everything_there_is_to_say() -> None:
    assert render_fleet_drift(EVERYTHING) == (
        """CLUSTER  PARTITIONS  DRIFTED  ON THE WAY  AS OF
eu               30        4           0  2026-11-21T03:00:00Z
us           12,345        0           2  2026-11-21T03:00:00Z

CLUSTER  WHAT       CLASS     KIND        DECLARED  IS      LEADER  OWNER
eu       orders-0   operator  missing     [1,2]     -            -  -
eu       orders-1   operator  order       [1,2]     [2,1]        2  sales
eu       orders-10  operator  partitions  -         [1,2]        1  -
eu       broker 3   operator  throttle    -         rate=1       -  -

Not done:
  b, collect: p/b.yaml: nobody answers
  x, drift: p/x.yaml:1:1: first (and 1 line more)

Without a placement: lab.
1 older snapshot not looked at.
Drift: 4 differences in 1 of 2 clusters; 2 errors.
"""
    )


def test_since_when_is_said_where_the_history_is_known() -> None:
    rows = [drifted(n, "order", [1, 2], [2, 1], leader=2, broker=None) for n in range(3)]
    ages: dict[RowKey, LakeRow] = {
        key_of(rows[0]): {"since": AT, "first_seen": AT, "flapping": True},
        key_of(rows[1]): {"since": AT, "first_seen": AT, "flapping": False},
    }
    lines = render_fleet_drift(fleet(rows, [], []), ages).splitlines()
    at = lines[0].index("SINCE")
    assert [line[at:] for line in lines[1:4]] == [f"{AT}, flapping", AT, "-"]
    assert lines[0].endswith("OWNER  SINCE")


def test_a_fleet_without_drift_is_one_table_and_one_line() -> None:
    assert render_fleet_drift(fleet([], [cluster("eu", 3, 0, 0)], [])) == (
        """CLUSTER  PARTITIONS  DRIFTED  ON THE WAY  AS OF
eu                3        0           0  2026-11-21T03:00:00Z

No drift in 1 cluster.
"""
    )


def test_beyond_the_cap_the_rest_is_counted() -> None:
    many = fleet([drifted(n, "order", [1, 2], [2, 1], leader=2) for n in range(1051)], [], [])
    lines = render_fleet_drift(many).splitlines()
    assert len(lines) == 1 + 50 + 1 + 2
    assert lines[51] == "and 1,001 more; --output and the lake have them all"


def test_errors_have_the_same_cap() -> None:
    many = fleet([], [], [error(f"c{n}") for n in range(60)])
    lines = render_fleet_drift(many).splitlines()
    assert lines[51:] == [
        "  and 10 more; --output and the lake have them all",
        "",
        "No cluster was compared; 60 errors.",
    ]


@pytest.mark.parametrize(
    ("found", "tolerated", "code"),
    [
        (fleet([], [], []), 0, 0),
        (fleet([drifted(0, "order", [1, 2], [2, 1])], [], []), 0, 2),
        (fleet([ACKNOWLEDGED], [], []), 0, 0),
        (fleet([], [], [error("b")]), 0, 1),
        (fleet([], [], [error("b"), error("b", "again", "plan")]), 1, 0),
        (EVERYTHING, 0, 1),
        (EVERYTHING, 1, 1),
        (EVERYTHING, 2, 2),
    ],
)
def test_the_exit_code_says_whether_the_answer_is_whole_and_then_whether_there_is_drift(
    found: FleetRun, tolerated: int, code: int
) -> None:
    assert found.exit_code(tolerated) == code


def test_the_tables_are_published_whole_and_again(tmp_path: Path) -> None:
    for _ in range(2):
        publish(EVERYTHING, tmp_path / "out")
    for name, table in EVERYTHING.rows.items():
        assert pq.ParquetFile(tmp_path / "out" / f"{name}.parquet").read() == table


def test_a_folder_of_something_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "drift.parquet").touch()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(BadFile) as refused:
        publish(EVERYTHING, tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: something else is there already; remove it or choose another name"
    )


ODD = "\n=1+1\x1b]0;x\x07"
"""A name that Kafka would not allow, as a snapshot that another program wrote may have it."""

PLAIN: LakeRow = {**dict.fromkeys(DRIFT_COLUMNS.split(), "x"), "spells": 1, "flapping": False}


def test_a_line_feed_in_a_name_begins_no_line_of_a_table() -> None:
    row = drifted(0, "order", [1, 2], [2, 1], topic=f"orders{ODD}")
    text = render_fleet_drift(fleet([row], [cluster("eu", 1, 1, 0)], []))
    assert r"orders\u000a=1+1\u001b]0;x\u0007-0" in text
    assert len(text.splitlines()) == 2 + 1 + 2 + 1 + 1


@pytest.mark.parametrize("before", ["", " ", "\n", "\r", "\t", "\n \t", "\x00", "\u00a0"])
@pytest.mark.parametrize("sign", "=+-@")
def test_no_cell_of_a_csv_file_is_a_formula(before: str, sign: str) -> None:
    """Some spreadsheets leave out what they do not show before they look for a sign."""
    row = {**PLAIN, "item": f"{before}{sign}cmd|'/c calc'!A0"}
    facts = FleetFacts(clusters=(), drift=(row,), resolved=(), acknowledged=(), trend=())
    text = rendered(facts)["drift.csv"]
    (found,) = csv.DictReader(io.StringIO(text))
    assert found["item"].startswith("'")


def test_a_partition_and_a_topic_of_one_name_differ_by_their_parts() -> None:
    topic = drifted(1, "partitions", [], [], topic="orders-1") | {"partition": None}
    rows = [named({"broker": None, **row}) for row in (topic, drifted(1, "order", [], []))]
    assert rows[0]["item"] == rows[1]["item"] == "orders-1"
    assert [row["topic"] for row in rows] == ["orders-1", "orders"]


def test_no_form_has_numbers_of_a_cluster_that_was_not_judged() -> None:
    """A zero would read as no drift."""
    lost = ClusterFacts("lost", errors=({"stage": "diff", "file": "a.yaml", "message": "broken"},))
    facts = FleetFacts(clusters=(lost,), drift=(), resolved=(), acknowledged=(), trend=())
    texts = rendered(facts)
    (row,) = csv.DictReader(io.StringIO(texts["clusters.csv"]))
    assert {name: value for name, value in row.items() if value} == {
        "cluster": "lost",
        "errors": "1",
    }
    (found,) = json.loads(texts["report.json"])["clusters"]
    assert (found.pop("name"), len(found.pop("errors")), found) == ("lost", 1, {"judged": None})
    assert "| `lost` | not judged |" in texts["report.md"]
    assert [line for line in texts["metrics.prom"].splitlines() if "lost" in line] == [
        'replan_fleet_errors{cluster="lost"} 1'
    ]


def test_no_cell_of_a_csv_file_steers_a_terminal() -> None:
    row = {**PLAIN, "owner": "me\x1b]0;x\x07\n"}
    facts = FleetFacts(clusters=(), drift=(row,), resolved=(), acknowledged=(), trend=())
    (_, line) = rendered(facts)["drift.csv"].splitlines()
    assert r"me\u001b]0;x\u0007" in line
