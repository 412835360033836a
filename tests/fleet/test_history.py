"""Since when something drifts, how often it came back and what put it right; and what `drift` says of it."""

import csv
import json
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state
from tests.commandline import replan
from tests.fleet.fleets import BAD, BROKEN, GOOD, ORDERS, at_hour, rows_of

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Originals,
    PackedTopic,
    Record,
    fold,
    packed,
)
from replan.errors import BadFile
from replan.fleet.api import (
    APPLICATIONS,
    DRIFT_STAGES,
    ERRORS,
    HISTORY,
    JUDGED,
    PLANS,
    RATES,
    TABLES,
    CollectedCluster,
    Fleet,
    FleetCluster,
    Here,
    Hour,
    Lake,
    Stage,
    do_and_commit,
    ended_applications,
    from_lake,
    gather,
    keep_collected,
    kept_history_of,
    kept_spells,
    newest_rates,
    put_history,
    rates_until,
    rendered,
    replace_rows,
    run_history,
    table_rows,
)
from replan.model.api import PartitionState, TopicId, TopicPartition, replicas
from replan.planning.api import Grown, Spell
from replan.snapshots.api import write_snapshot

pytestmark = pytest.mark.slow

ORDERS_0 = TopicPartition("orders", 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    declare(tmp_path, ORDERS)
    return tmp_path


def declare(home: Path, placement: str) -> None:
    (home / "eu.yaml").write_text(placement)


def moment(hour: int) -> str:
    """So many hours after the beginning of 20 November."""
    return at_hour(hour - 24)


def look(
    hour: int, *states: Sequence[int] | PartitionState, at: str = "", **more: Any
) -> CollectedCluster:
    """These partitions, or orders-0 with these replicas."""
    found = [one if isinstance(one, PartitionState) else state(one) for one in states]
    seen = snapshot(found, observed_at=at or moment(hour))
    return CollectedCluster(replace(seen, cluster_id="id-eu"), **more)


TWO_TOPICS = f"version: 1\nassignments: {{orders: {{partitions: [{GOOD}]}}, clicks: {{partitions: [{GOOD}]}}}}\n"


def looks(
    hour: int, *, orders: Sequence[int], clicks: Sequence[int], **more: Any
) -> CollectedCluster:
    return look(hour, orders, state(clicks, topic="clicks", topic_id=TopicId("c")), **more)


def judge(home: Path, *looks: CollectedCluster, stages: Sequence[Stage] = DRIFT_STAGES) -> Lake:
    """Each look is kept and judged, then the history is brought up to date."""
    lake = Lake(str(home / "lake"))
    fleet = Fleet({"eu": FleetCluster("eu", placement=home / "eu.yaml")}, lake.address)
    for one in looks:
        keep_collected(lake, {"eu": one})
        now = Hour.of("", one.snapshot.observed_at)
        todo = from_lake(fleet, lake, datetime.fromisoformat(one.snapshot.observed_at))
        do_and_commit(lake, todo, stages, Here(), now)
    run_history(lake, ["eu"], Here())
    return lake


def history(lake: Lake) -> dict[str, Any]:
    (row,) = lake.read(HISTORY).to_pylist()
    return dict(row)


def application(name: str, opened: int, ended: int) -> Application:
    return Application(
        id=name,
        status=ApplicationStatus.CLOSED,
        plan_digest="d" * 64,
        placement_digest="m" * 64,
        cluster_id="id-eu",
        owner="alice@ops-1",
        opened_at=moment(opened),
        ended_at=moment(ended),
    )


def moved(*applications: Application, done: bool = True) -> dict[str, Any]:
    """What the journal says after each of them has moved orders-0."""
    lists = replicas(*BAD), replicas(*GOOD)
    kept = Originals([PackedTopic("orders", "id", [(0, *lists, done, True)])])
    records: list[Record] = [*applications]
    for one in applications:
        records += packed(one.id, kept)
    return {"ended": tuple(ended_applications(fold(records)))}


def test_what_begins_three_times_in_a_week_flaps_until_it_is_quiet_for_one(home: Path) -> None:
    lake = judge(home, *(look(n, GOOD if n % 2 else BAD) for n in range(6)))
    assert (history(lake)["spells"], history(lake)["flapping"]) == (3, True)
    (week, later) = (
        kept_spells(lake, "id-eu", moment(hour)).spells.values() for hour in (7 * 24 - 1, 7 * 24)
    )
    assert [[spell.flapping for spell in of] for of in (week, later)] == [[True], [False]]
    judge(home, look(7 * 24 + 4, GOOD))
    assert (history(lake)["spells"], history(lake)["flapping"]) == (3, False)


def test_a_report_begins_with_what_flaps_and_says_who_put_things_right(home: Path) -> None:
    declare(home, TWO_TOPICS)
    flaps = [looks(n, orders=GOOD if n % 2 else BAD, clicks=BAD) for n in range(5)]
    lake = judge(home, *flaps)
    fleet = Fleet({"eu": FleetCluster("eu"), "us": FleetCluster("us")})
    found = gather(lake, fleet)
    assert [(r["item"], r["flapping"], r["spells"]) for r in found.drift] == [
        ("orders-0", True, 3),
        ("clicks-0", False, 1),
    ]
    assert [(c.name, c.judged and c.judged.flapping) for c in found.clusters] == [
        ("eu", 1),
        ("us", None),
    ]
    assert (found.resolved, found.acknowledged) == ((), ())

    by = moved(application("a-1", 5, 6))
    judge(home, looks(7, orders=GOOD, clicks=GOOD, **by))
    found = gather(lake, fleet)
    columns = ("item", "since", "resolved_at", "resolved_by")
    assert [tuple(r[c] for c in columns) for r in found.resolved] == [
        ("orders-0", moment(4), moment(7), "a-1"),
        ("clicks-0", moment(0), moment(7), None),
    ]
    assert found.clusters[0].judged is not None
    assert found.clusters[0].judged.flapping == 1  # it is in its place, and may go again
    files = rendered(found)
    assert list(csv.DictReader(files["drift.csv"].splitlines())) == []
    first, second = csv.DictReader(files["resolved.csv"].splitlines())
    assert (first["resolved_by"], first["flapping"]) == ("a-1", "true")
    assert (second["resolved_by"], second["flapping"]) == ("", "false")
    assert f"| replicas | {moment(4)} | {moment(7)} | `a-1` |" in files["report.md"]
    assert "| replicas | 3 times | in its place |" in files["report.md"]
    assert 'replan_fleet_flapping{cluster="eu"} 1\n' in files["metrics.prom"]

    judge(home, looks(7 * 24 + 8, orders=GOOD, clicks=GOOD))
    assert gather(lake, fleet).resolved == ()  # longer ago than a week


def test_the_bytes_of_a_partition_that_differs_in_two_ways_are_counted_once(home: Path) -> None:
    led, lost = state(BAD, size=100), state(BAD, [], leader=None, partition=1, size=100)
    declare(home, ORDERS.replace(f"[{GOOD}]", f"[{GOOD}, {GOOD}]"))
    lake = judge(home, look(1, led, lost), stages=(*DRIFT_STAGES, Stage.COST))
    found = gather(lake, Fleet({"eu": FleetCluster("eu")}))
    assert [(r["item"], r["kind"], r["copy_bytes"]) for r in found.drift] == [
        ("orders-0", "replicas", 100),
        ("orders-1", "no-leader", 0),
        ("orders-1", "replicas", 100),
    ]
    (judged,) = [c.judged for c in found.clusters]
    assert judged is not None
    assert judged.copy_bytes == 200


def test_what_is_acknowledged_is_listed_with_its_date_and_not_as_put_right(home: Path) -> None:
    lake = judge(home, look(1, BAD))
    entry = "acknowledged: [{topic: orders, partitions: [0], reason: later, expires: 2026-11-30}]\n"
    declare(home, ORDERS + entry)
    judge(home, look(2, BAD))
    found = gather(lake, Fleet({"eu": FleetCluster("eu")}))
    (row,) = found.acknowledged
    assert (row["item"], row["since"], row["until"]) == ("orders-0", moment(2), "2026-11-30")
    assert (found.drift, found.resolved) == ((), ())
    assert "| 2026-11-30 |" in rendered(found)["report.md"]


def test_the_application_that_moved_it_has_resolved_it(home: Path) -> None:
    first, second = application("a-1", 2, 3), application("b-1", 5, 6)
    lake = judge(home, look(1, BAD), look(4, GOOD, **moved(first)))
    assert (history(lake)["resolved_at"], history(lake)["resolved_by"]) == (moment(4), "a-1")
    judge(home, look(5, BAD))
    assert history(lake)["resolved_by"] is None
    judge(home, look(7, GOOD, **moved(first, second)))
    assert (history(lake)["resolved_at"], history(lake)["resolved_by"]) == (moment(7), "b-1")
    rows = lake.read(APPLICATIONS).to_pylist()
    assert sorted((r["application"], r["topic"], r["partition"], r["hour"]) for r in rows) == [
        ("a-1", "orders", 0, 3),
        ("b-1", "orders", 0, 6),
    ]
    # Its rows are removed with their day, and the history keeps the name.
    replace_rows(lake, APPLICATIONS, APPLICATIONS.schema.empty_table(), [Hour.of("eu", moment(6))])
    run_history(lake, ["eu"], Here())
    assert history(lake)["resolved_by"] == "b-1"


@pytest.mark.parametrize(
    ("opened", "ended", "done"), [(0, 1, True), (6, 7, True), (2, 3, False)], ids=str
)
def test_an_application_before_or_after_or_without_success_has_not(
    home: Path, opened: int, ended: int, done: bool
) -> None:
    kept = moved(application("a-1", opened, ended), done=done)
    lake = judge(home, look(1, BAD), look(4, GOOD, **kept))
    assert history(lake)["resolved_at"] == moment(4)
    assert history(lake)["resolved_by"] is None


def test_partitions_that_an_application_has_made_are_its_own() -> None:
    one = application("a-1", 1, 2)
    kept = Originals([], [Grown("clicks", 2, 4)])
    (found,) = ended_applications(fold([one, *packed("a-1", kept)]))
    assert found.moved == (TopicPartition("clicks", 2), TopicPartition("clicks", 3))


def test_ends_of_a_snapshot_that_was_replaced_say_nothing_of_the_other(home: Path) -> None:
    """One that does not say where the logs end has taken its place in the hour, or a crash came before the other."""
    lake = judge(home, look(1, GOOD, log_ends={ORDERS_0: 0}), stages=[Stage.RATES])
    keep_collected(lake, {"eu": look(2, GOOD, log_ends={ORDERS_0: 7200})})
    later = look(2, GOOD, at=moment(2).replace(":00Z", ":30Z"))
    judge(home, later, stages=[Stage.RATES])
    (row,) = lake.read(RATES, "hour = 2").to_pylist()
    assert row["records_per_second"] is None


def test_a_partition_that_has_shrunk_has_no_rate_to_judge_a_copy_by(home: Path) -> None:
    """Retention is at work there: what was written is more than what the sizes grew by, by nobody knows how much."""

    grown = [look(n, state(GOOD, size=size)) for n, size in ((0, 0), (1, 7200), (2, 10800))]
    lake = judge(home, *grown, stages=[Stage.RATES])
    assert newest_rates(lake, "id-eu").rates.bytes_per_second == {ORDERS_0: 2}
    judge(home, look(3, state(GOOD, size=100)), stages=[Stage.RATES])
    (row,) = lake.read(RATES, "hour = 3").to_pylist()
    assert (row["bytes_per_second"], row["peak_bytes_per_second"]) == (1.5, 2.0)
    assert (row["seconds"], row["intervals"], row["left_out"]) == (7200.0, 2, "shrank")
    assert newest_rates(lake, "id-eu").rates.bytes_per_second == {}


def test_the_newest_rates_until_an_hour_are_found_without_those_of_others(home: Path) -> None:
    """Neither by another id under this name, nor by the same under another name."""
    lake = Lake(str(home / "lake"))

    def rated(hour: int, rate: float, cluster: str = "eu", cluster_id: str = "id-eu") -> None:
        at = moment(hour)
        named = {"topic": ["orders"], "partition": [0], "seconds": [60.0], "intervals": [1]}
        columns = {**named, "bytes_per_second": [rate], "peak_bytes_per_second": [rate]}
        of = Hour.of(cluster, at)
        replace_rows(lake, RATES, table_rows(RATES, columns, of, cluster_id, at), [of])

    def rate(hour: int | None = None) -> tuple[str, float] | None:
        until = None if hour is None else Hour.of("eu", moment(hour))
        kept = rates_until(lake, "id-eu", until)
        return None if kept is None else (kept.observed_at, kept.rates.bytes_per_second[ORDERS_0])

    assert rate() is None
    rated(1, 1)
    rated(3, 3)
    rated(26, 26, cluster_id="id-new")
    rated(25, 25, cluster="europe")
    assert rate() == (moment(25), 25)
    assert rate(0) is None
    assert [rate(n) for n in (1, 2, 3, 24)] == [(moment(n), n) for n in (1, 1, 3, 3)]
    rated(27, 27)
    (first, *_, last) = lake.files(RATES)["eu"]
    (Path(lake.place(RATES)) / first.path).write_bytes(b"no Parquet")
    assert rate() == (moment(27), 27)  # of what is older nothing is read
    (Path(lake.place(RATES)) / last.path).write_bytes(b"no Parquet")
    with pytest.raises(BadFile, match=r"\.parquet: "):
        rate()


def test_what_a_lake_knows_of_one_cluster(home: Path) -> None:
    lake = judge(home, look(1, BAD), look(2, GOOD), look(4, BAD))
    found = kept_spells(lake, "id-eu", moment(5))
    item = ("orders", 0, None, "replicas")
    assert found.compared_at == moment(4)
    assert found.spells == {item: Spell(moment(4), None, 2, (moment(1), moment(4)))}
    with pytest.raises(BadFile, match="never compared"):
        kept_spells(lake, "id-us", moment(5))


@pytest.mark.command
def test_drift_of_one_cluster_says_since_when(home: Path) -> None:
    judge(home, look(1, BAD), look(2, GOOD), look(4, BAD))
    write_snapshot(look(6, BAD).snapshot, home / "eu.json")
    drift = ("drift", "-f", "eu.yaml", "--snapshot", "eu.json", "--since", "lake")

    def said(form: str) -> str:
        run = replan(*drift, "--format", form, folder=home)
        assert run.returncode == 2, run.stderr
        return run.stdout

    (difference,) = json.loads(said("json"))["differences"]
    spell = (difference["since"], difference["spells"], difference["flapping"])
    assert spell == (moment(4), 2, False)
    assert f"since {moment(4)}, 2 times" in said("text")
    assert f"{moment(4)}, 2 times |" in said("markdown")
    assert 'replan_drift_oldest_timestamp_seconds{cluster="id-eu"' in said("prometheus")
    elsewhere = replan(*drift[:-1], "nowhere", folder=home)
    assert (elsewhere.returncode, elsewhere.stdout) == (1, "")
    assert "never compared" in elsewhere.stderr


def kept(lake: Lake) -> tuple[Any, ...]:
    row = history(lake)
    return tuple(row[k] for k in ("first_seen", "since", "spells", "open", "resolved_at"))


def test_what_was_put_right_stays_in_the_history_when_its_days_are_removed(home: Path) -> None:
    one = moved(application("a-1", 1, 2))
    lake = judge(home, look(1, BAD), look(3, GOOD, **one), look(30, GOOD))
    before = history(lake)
    assert before["resolved_by"] == "a-1"
    list(lake.maintain(1, date(2026, 11, 22)))
    run_history(lake, ["eu"], Here())
    assert history(lake) == before
    judge(home, look(31, BAD))
    assert kept(lake) == (moment(1), moment(31), 2, True, None)


def test_what_flaps_still_does_when_the_days_of_its_beginnings_are_removed(home: Path) -> None:
    lake = judge(home, *(look(n, GOOD if n % 2 else BAD) for n in range(6)), look(30, GOOD))
    list(lake.maintain(1, date(2026, 11, 22)))
    run_history(lake, ["eu"], Here())
    began = [moment(n) for n in (0, 2, 4)]
    assert (history(lake)["began"], history(lake)["flapping"]) == (began, True)
    judge(home, look(31, BAD))
    assert (history(lake)["began"], history(lake)["flapping"]) == ([*began, moment(31)], True)
    judge(home, look(7 * 24 + 3, BAD))
    assert (history(lake)["began"], history(lake)["flapping"]) == ([moment(4), moment(31)], False)


def test_a_snapshot_that_is_replaced_in_its_hour_begins_no_other_spell(home: Path) -> None:
    lake = judge(home, look(1, BAD), look(3, GOOD), look(30, GOOD))
    list(lake.maintain(1, date(2026, 11, 22)))
    for minute in (0, 20, 40):
        at = moment(31).replace(":00:", f":{minute:02}:")
        judge(home, look(31, BAD, at=at))
        assert kept(lake) == (moment(1), at, 2, True, None)


def test_the_history_outlives_all_comparisons(home: Path) -> None:
    lake = judge(home, look(1, BAD), look(2, BAD))
    before = history(lake)
    list(lake.maintain(1, date(2026, 12, 24)))  # the cluster has not answered for a month
    run_history(lake, ["eu"], Here())
    assert history(lake) == before
    judge(home, look(9 * 24, GOOD))
    assert kept(lake) == (moment(1), moment(1), 1, False, moment(9 * 24))


def test_what_no_hour_that_is_left_finds_was_last_seen_at_the_oldest_of_them(home: Path) -> None:
    """They are judged again, and its other hours are removed."""
    lake = judge(home, look(1, BAD), look(30, BAD), look(31, BAD))
    list(lake.maintain(1, date(2026, 11, 22)))
    late = [moment(hour).replace(":00Z", ":30Z") for hour in (30, 31)]
    judge(home, *(look(hour, GOOD, at=at) for hour, at in zip((30, 31), late, strict=True)))
    assert kept(lake) == (moment(1), moment(1), 1, False, late[0])
    assert history(lake)["last_seen"] == late[0]


def test_a_late_hour_without_it_ends_a_spell_of_what_is_older_than_the_oldest_hour(
    home: Path,
) -> None:
    lake = judge(home, look(1, BAD), look(30, BAD), look(32, BAD))
    list(lake.maintain(1, date(2026, 11, 22)))
    judge(home, look(31, GOOD))
    assert kept(lake) == (moment(1), moment(32), 2, True, None)


def test_maintenance_that_was_killed_between_two_tables_ends_no_spell(home: Path) -> None:
    lake = judge(home, look(1, BAD), look(30, BAD))
    run = lake.maintain(1, date(2026, 11, 22))
    for done in run:
        run_history(lake, ["eu"], Here())
        assert kept(lake) == (moment(1), moment(1), 1, True, None), done


def test_a_part_that_has_not_changed_is_written_too_since_another_may_have(home: Path) -> None:
    """All parts of a cluster take the place of the history that there is."""
    lake = judge(home, look(1, BAD))
    ((name, rows),) = kept_history_of(lake, ["eu"])
    assert put_history(name, rows, lake, "run") == (False, None)
    changed, file = put_history(name, rows, lake, "run", part=True)
    assert not changed
    assert file is not None


def test_an_hour_that_is_judged_again_takes_back_what_it_found(home: Path) -> None:
    lake = judge(home, look(1, BAD))
    declare(home, ORDERS.replace(str(GOOD), str(BAD)))
    judge(home, look(1, BAD, at=moment(1).replace(":00Z", ":30Z")))
    assert lake.read(HISTORY).num_rows == 0


def test_a_run_that_cannot_judge_keeps_what_the_hour_has(home: Path) -> None:
    lake = judge(home, look(1, BAD), look(2, GOOD), look(3, BAD), stages=list(Stage))
    names = ("declared", "differences", "drift", "judged", "costs", "plans", "history")
    before = rows_of(lake, *(TABLES[name] for name in names))
    declare(home, BROKEN)
    judge(home, look(3, BAD), stages=list(Stage))
    assert rows_of(lake, *(TABLES[name] for name in names)) == before
    (error,) = lake.read(ERRORS).to_pylist()
    assert error["stage"] == "diff"

    # What cannot be planned is judged all the same: then the plan of before is of another placement.
    declare(home, f"{ORDERS}limits: {{partitions: 0}}\n")
    judge(home, look(3, BAD), stages=list(Stage))
    assert lake.read(JUDGED, "hour = 3").num_rows == 1
    assert lake.read(PLANS, "hour = 3").num_rows == 0
    (error,) = lake.read(ERRORS).to_pylist()
    assert error["stage"] == "plan"


def test_a_cluster_that_was_created_again_under_the_same_name_has_its_own_history(
    home: Path,
) -> None:
    lake = judge(home, look(1, BAD), look(2, BAD))
    again = [CollectedCluster(replace(look(n, BAD).snapshot, cluster_id="id-new")) for n in (3, 4)]
    judge(home, *again)
    assert kept(lake) == (moment(3), moment(3), 1, True, None)
    assert [s.since for s in kept_spells(lake, "id-new", moment(5)).spells.values()] == [moment(3)]
    assert kept_spells(lake, "id-eu", moment(5)).spells == {}
