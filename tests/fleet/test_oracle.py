"""Every table of a lake against an oracle that knows nothing of replan: drawn clusters, six moments, both engines.

`declared` by rule and by drain is checked to keep its rule; `plans` are those of `replan plan`, byte by byte.
"""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import chdir
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from tests.commandline import replan, start
from tests.fleet.drawn import MOMENTS, Drawn
from tests.fleet.oracle import Chosen, Comparison, Declared, Row, Seen, history, rates, sums
from tests.profiles import by_profile

from replan.applying.api import Application, ApplicationStatus
from replan.fleet.api import CollectedCluster, EndedApplication, Lake, keep_collected
from replan.main import run
from replan.model.api import TopicPartition
from replan.snapshots.api import from_document

OWNERS = {"*": "platform", "orders*": "sales", "orders-eu": "eu", "ruled-*": "rules"}
PRICES = {"currency": "EUR", "crossRackPerGB": 0.02}
KEYS = ("cluster", "day", "hour", "cluster_id", "observed_at")
COLUMNS: Mapping[str, Sequence[str]] = {
    "differences": ("topic", "partition", "kind", "declared", "observed", "leader"),
    "drift": (
        *("topic", "partition", "broker", "class", "kind", "declared", "observed", "leader"),
        *("bytes", "rule", "detail", "owner", "acknowledged_until"),
    ),
    "judged": ("partitions", "drifted", "converging", "acknowledged"),
    "costs": (
        *("topic", "partition", "bytes", "cross_rack_bytes", "seconds", "amount", "currency"),
    ),
    "rates": (
        *("topic", "partition", "bytes_per_second", "peak_bytes_per_second"),
        *("seconds", "intervals", "left_out", "records_per_second"),
    ),
    "sums": ("topic", "partition", "topic_id", "bytes", "log_end", "window", "today"),
    "offsets": ("topic", "partition", "log_end"),
    "applications": (
        *("application", "owner", "plan_digest", "opened_at", "ended_at", "topic", "partition"),
    ),
    "declared": ("topic", "partition", "replicas"),
    "history": (
        *("topic", "partition", "broker", "class", "kind", "first_seen", "last_seen", "spells"),
        *("open", "resolved_at", "resolved_by", "acknowledged_until", "owner", "since"),
        *("flapping", "cluster_id", "began"),
    ),
}


class Home:
    """A fleet of drawn clusters in a folder."""

    def __init__(self, folder: Path, seeds: Sequence[int]) -> None:
        self.folder = folder
        self.clusters = [Drawn(seed) for seed in seeds]
        self.declared_then: list[dict[str, list[Row]]] = []
        entries = {
            one.name: {"placement": f"{one.name}.yaml"}
            | ({} if self.is_fed(one) else {"snapshot": f"{one.name}.json"})
            for one in self.clusters
        }
        # no cluster takes long; the machine that tests it may
        fleet = {"version": 1, "lake": "lake", "timeout": "30m", "owners": OWNERS, "prices": PRICES}
        (folder / "fleet.yaml").write_text(yaml.safe_dump({**fleet, "clusters": entries}))

    def ends(self, one: Drawn) -> dict[str, dict[tuple[str, int], int]]:
        """Where the logs of a cluster ended, by moment."""
        fed = self.is_fed(one)
        return {MOMENTS[at]: one.log_ends[at] for at in kept_moments()} if fed else {}

    @staticmethod
    def is_fed(one: Drawn) -> bool:
        """Whether a job of its own puts it into the lake, with what its brokers and its journal say."""
        return int(one.name[1:]) % 2 == 1

    def arrive(self, at: int) -> None:
        """Put the files of a moment there, and into the lake what is fed."""
        lake = Lake(str(self.folder / "lake"))
        looks = {one.name: collected_at(one, at) for one in self.clusters if self.is_fed(one)}
        keep_collected(lake, looks)
        for one in self.clusters:
            (self.folder / f"{one.name}.json").write_text(json.dumps(one.snapshots[at]))
            (self.folder / f"{one.name}.yaml").write_text(one.placements[at])

    def read(self, table: str) -> list[Row]:
        """The rows of a table, without replan's own reader."""
        place = self.folder / "lake" / table
        if not DeltaTable.is_deltatable(str(place)):
            return []
        rows: list[Row] = DeltaTable(str(place)).to_pyarrow_table().to_pylist()
        return rows

    def run(self, engines: Sequence[str]) -> None:
        """`fleet run` at each moment; and what was declared then, of which the lake keeps the newest alone."""
        for at, engine in enumerate(engines):
            self.arrive(at)
            words = ("fleet", "run", "-o", "report", "--engine", engine)
            if engine == "local":
                done = replan(*words, folder=self.folder)
                code, said = done.returncode, done.stderr
            else:
                running = start(words, folder=self.folder)
                _, said = running.communicate()  # however long it takes: the whole test has a limit
                code = running.returncode
            assert code in {1, 2}, said
            assert "Traceback" not in said, said
            self.declared_then.append(by_cluster(self.read("declared")))

    def plan_of(self, one: Drawn, at: int) -> str | None:
        """What `replan plan` saves; None where it refuses."""
        output = self.folder / "plan.json"
        output.unlink(missing_ok=True)
        with chdir(self.folder):
            snapshot, placement = (Path(f"{one.name}.{end}") for end in ("json", "yaml"))
            snapshot.write_text(json.dumps(one.snapshots[at]))
            placement.write_text(one.placements[at])
            run(["plan", "--snapshot", str(snapshot), "-f", str(placement), "-o", output.name])
        return output.read_text() if output.exists() else None


def collected_at(one: Drawn, at: int) -> CollectedCluster:
    """What a job of the cluster's own keeps, as `replan snapshot --lake` does."""
    ends = {TopicPartition(*name): end for name, end in one.log_ends[at].items()}
    ended = [
        EndedApplication(
            Application(
                of["application"],
                ApplicationStatus.CLOSED,
                of["plan_digest"],
                "",
                of["cluster_id"],
                of["owner"],
                opened_at=of["opened_at"],
                ended_at=of["ended_at"],
            ),
            tuple(TopicPartition(*name) for name in of["moved"]),
        )
        for of in one.applications[at]
    ]
    return CollectedCluster(from_document(one.snapshots[at], one.name), ends, ended)


def by_cluster(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["cluster"], []).append(row)
    return found


def comparison(home: Home, one: Drawn, at: int) -> Comparison:
    path = f"{one.name}.yaml"
    rows = home.declared_then[at].get(one.name, [])
    chosen = Chosen({(r["topic"], r["partition"]): r["replicas"] for r in rows})
    seen = Seen(one.snapshots[at])
    return Comparison(Declared(one.placements[at], path), seen, chosen, OWNERS, PRICES)


def keyed(name: str, seen: Seen, rows: Sequence[Row]) -> list[Row]:
    """Rows with what all rows of a table say of their snapshot."""
    same = {
        "cluster": name,
        "day": date.fromisoformat(seen.moment[:10]),
        "hour": int(seen.moment[11:13]),
        "cluster_id": seen.document["clusterId"],
        "observed_at": seen.moment,
    }
    return [same | row for row in rows]


def expected(home: Home) -> dict[str, list[Row]]:
    """All rows of all tables."""
    found: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for one in home.clusters:
        compared: list[tuple[Seen, Sequence[Row]]] = []
        for at in kept_moments():
            of = comparison(home, one, at)
            drift = of.drift()
            rows = {"differences": of.differences(), "drift": drift, "costs": of.costs()}
            mistaken = of.mistakes()
            acknowledged = sum(row["class"] == "acknowledged" for row in drift)
            _, converging, _ = of.found
            numbers = {
                "partitions": len(of.wanted),
                "drifted": len(drift) - acknowledged + mistaken,
            }
            numbers |= {"converging": len(converging), "acknowledged": acknowledged}
            earlier = [Seen(one.snapshots[n]) for n in kept_moments() if n < at]
            ends = home.ends(one)
            rows |= {"judged": [numbers], "rates": rates(earlier, of.seen, ends)}
            rows["offsets"] = [
                {"topic": t, "partition": p, "log_end": end}
                for (t, p), end in ends.get(of.seen.moment, {}).items()
            ]
            for table, listed in rows.items():
                found[table] += keyed(one.name, of.seen, listed)
            compared.append((of.seen, drift))
        applications = one.applications[-1] if home.is_fed(one) else []
        drifted = history(compared, applications)
        found["history"] += [row | {"cluster": one.name} for row in drifted]
        found["sums"] += keyed(one.name, of.seen, sums(earlier, of.seen, ends))
        for done in applications:
            hour = int(done["ended_at"][11:13])
            at_end = {"day": date.fromisoformat(done["ended_at"][:10]), "hour": hour}
            found["applications"] += [
                {**done, **at_end, "cluster": one.name, "topic": t, "partition": p}
                for t, p in done["moved"]
            ]
        listed = [
            {"topic": t, "partition": p, "replicas": w.brokers} for (t, p), w in of.wanted.items()
        ]
        found["declared"] += keyed(one.name, of.seen, listed)
    return found


def kept_moments() -> list[int]:
    """Of two moments in one hour the later one."""
    last = {moment[:13]: at for at, moment in enumerate(MOMENTS)}
    return sorted(last.values())


def comparable(table: str, rows: Sequence[Row]) -> list[str]:
    """Rows as text, in an order of their own; a mistake of a placement is a sentence, which only its cluster counts."""
    keys = [k for k in KEYS if table != "history" and (table, k) not in NO_KEYS] or ["cluster"]
    return sorted(
        str({name: rounded(row[name]) for name in (*keys, *COLUMNS[table])})
        for row in rows
        if row.get("kind") != "placement"
    )


NO_KEYS = {
    *((table, key) for table in ("declared", "sums") for key in ("day", "hour")),
    ("applications", "observed_at"),
}


def rounded(value: Any) -> Any:
    """A number to twelve digits: sums may be taken in another order."""
    if isinstance(value, dict):
        return {name: rounded(of) for name, of in value.items()}
    return float(f"{value:.12g}") if isinstance(value, float) and math.isfinite(value) else value


def check(home: Home) -> dict[str, int]:
    """Compare all tables; how many rows each has."""
    wanted = expected(home)
    counts = {}
    for table, rows in wanted.items():
        mine, theirs = comparable(table, home.read(table)), comparable(table, rows)
        assert mine == theirs, (table, differing(mine, theirs))
        counts[table] = len(mine)
    assert any(row["resolved_by"] for row in home.read("history"))
    return counts | {"snapshots": check_snapshots(home), "plans": check_plans(home)}


def differing(mine: Sequence[str], theirs: Sequence[str]) -> str:
    """Some of what only one side has."""
    sides = (("lake", {*mine} - {*theirs}), ("oracle", {*theirs} - {*mine}))
    return "\n" + "\n".join(f"{name}: {row}" for name, rows in sides for row in sorted(rows)[:8])


def check_snapshots(home: Home) -> int:
    """The table has each broker, topic and partition of each snapshot that counts."""
    found = by_cluster(home.read("snapshots"))
    count = 0
    for one in home.clusters:
        rows = found[one.name]
        moments = {MOMENTS[at]: one.snapshots[at] for at in kept_moments()}
        assert {row["observed_at"] for row in rows} == set(moments)
        for row in rows:
            count += row["part"] == "partitions"
        for moment, document in moments.items():
            mine = [row for row in rows if row["observed_at"] == moment]
            columns = ("replicas", "isr", "adding", "removing", "bytes")
            listed = sorted(
                (r["topic"], r["partition"], *(r[c] for c in columns), r["leader"])
                for r in (row["partitions"] for row in mine if row["part"] == "partitions")
            )
            assert listed == sorted(
                (t["name"], n, *(p[c] for c in columns), -1 if p["leader"] is None else p["leader"])
                for t in document["topics"]
                for n, p in enumerate(t["partitions"])
            )
            brokers = [row["brokers"] for row in mine if row["part"] == "brokers"]
            assert sorted((b["id"], b["rack"]) for b in brokers) == [
                (b["id"], b["rack"]) for b in document["brokers"]
            ]
    return count


def check_plans(home: Home) -> int:
    """The table has what `replan plan` saves for each snapshot; where that refuses, there is an error and no plan."""
    plans = {(r["cluster"], r["observed_at"]): r["document"] for r in home.read("plans")}
    errors = {(r["cluster"], r["day"].isoformat(), r["hour"]) for r in home.read("errors")}
    for one in home.clusters:
        for at in kept_moments():
            moment, document = MOMENTS[at], home.plan_of(one, at)
            assert plans.pop((one.name, moment), None) == document, (one.name, moment)
            failed = (one.name, moment[:10], int(moment[11:13])) in errors
            assert failed == (document is None), (one.name, moment)
    assert not plans
    return len(home.read("plans"))


SOME = range(by_profile(fast=4, ci=4, full=8, nightly=8))
"""Which clusters are drawn."""
LOCAL, SPARK = ("local",) * len(MOMENTS), ("spark",) * len(MOMENTS)


@pytest.mark.command
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "last", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.nightly])]
)
def test_every_row_of_every_table_is_what_the_oracle_says(tmp_path: Path, last: str) -> None:
    """The last moment may be judged by the other engine, on what the first one has left."""
    counts = checked_fleet(tmp_path, SOME, (*LOCAL[:-1], last))
    assert min(counts.values()) > 0, counts


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("engines", [LOCAL, SPARK], ids=["local", "spark"])
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_every_row_of_two_hundred_clusters(
    tmp_path: Path, first: int, engines: Sequence[str]
) -> None:
    counts = checked_fleet(tmp_path, range(first, first + 50), engines)
    assert min(counts.values()) > 0, counts


def checked_fleet(folder: Path, seeds: Sequence[int], engines: Sequence[str]) -> dict[str, int]:
    home = Home(folder, seeds)
    home.run(engines)
    return check(home)
