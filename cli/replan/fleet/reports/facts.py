"""The facts of a report: the newest comparison of each cluster, with its costs, its plan, its history and its errors.

An error counts until its stage fails otherwise, or its cluster was compared in a later hour. Whatever is in a report
comes from here, so all of its forms say the same. The history (`stages.history`) says since when something drifts, what
flaps, what was put right and by whom.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct, field

from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Lake, hours_condition
from replan.fleet.lake.tables import (
    COSTS,
    DRIFT,
    ERRORS,
    HISTORY,
    JUDGED,
    PLANS,
    LakeRow,
    RowKey,
    key_of,
)
from replan.fleet.run import hour_of
from replan.fleet.stages.classify import ACKNOWLEDGED_CLASS
from replan.planning.comparison.diff import MOVABLE
from replan.wording import subject

COMPARED = ("observed_at", "partitions", "drifted", "converging", "acknowledged")
"""What a report says of a comparison."""
RECENT_TIME = timedelta(days=7)
"""What was put right longer ago is in the lake alone."""


class JudgedCluster(Struct, frozen=True):
    """What the newest comparison of a cluster came to."""

    observed_at: str
    partitions: int = 0
    drifted: int = 0
    converging: int = 0
    acknowledged: int = 0
    classes: Mapping[str, int] = field(default_factory=dict)
    """How much drifted, by class."""
    oldest: str | None = None
    """Since when the oldest of it drifts."""
    flapping: int = 0
    """What began three times or more in a week, whether it drifts now or not."""
    copy_bytes: int = 0
    cross_rack_bytes: int = 0
    amounts: Mapping[str, float] = field(default_factory=dict)
    """Money by currency."""
    changes: int | None = None
    """What its plan changes; None without a plan."""
    plan_seconds: float | None = None

    @property
    def cost(self) -> str:
        """What its copies cost, in each of its currencies."""
        return " + ".join(f"{amount:.2f} {name}" for name, amount in sorted(self.amounts.items()))


class ClusterFacts(Struct, frozen=True):
    """One cluster of the fleet."""

    name: str
    judged: JudgedCluster | None = None
    """None where it was never compared."""
    errors: tuple[Mapping[str, str], ...] = ()
    """Stage, file and message of each."""

    @property
    def drifted(self) -> int:
        """What drifted, as far as anybody knows."""
        return 0 if self.judged is None else self.judged.drifted


class FleetFacts(Struct, frozen=True):
    """A whole fleet."""

    clusters: tuple[ClusterFacts, ...]
    """Those with errors first, then those that drifted most."""
    drift: tuple[LakeRow, ...]
    """What drifted: cluster, item, class, kind, lists, since when, how often, owner; what flaps first."""
    resolved: tuple[LakeRow, ...]
    """What was put right in the last week: since when it had drifted, when it was gone, by which application."""
    acknowledged: tuple[LakeRow, ...]
    """What the placements ask to leave alone, and until when."""
    trend: tuple[LakeRow, ...]
    """What had drifted in all clusters that were compared, by the moment of each comparison, oldest first."""

    @property
    def classes(self) -> Mapping[str, int]:
        """How much drifted in the fleet, by class, the most first."""
        return dict(Counter(row["class"] for row in self.drift).most_common())


def gather(lake: Lake, fleet: Fleet) -> FleetFacts:
    """Read the tables; raises BadFile."""
    rows = lake.read(JUDGED, columns=("cluster", "day", "hour", *COMPARED)).to_pylist()
    judged = [row for row in rows if row["cluster"] in fleet.clusters]
    newest: dict[str, LakeRow] = {}
    for row in judged:
        if _moment(row) >= _moment(newest.get(row["cluster"])):
            newest[row["cluster"]] = row
    where = hours_condition(DRIFT, map(hour_of, newest.values()))
    costs = _by_cluster(lake.read(COSTS, where).to_pylist())
    plans = _by_cluster(lake.read(PLANS, where, ("cluster", "changes", "seconds")).to_pylist())
    errors = _errors(lake, newest)
    history = [row for row in lake.read(HISTORY).to_pylist() if row["cluster"] in newest]
    ages = {key_of(row): row for row in history if row["open"]}
    drift_rows = lake.read(DRIFT, where).to_pylist()
    drift = _drift([row for row in drift_rows if row["class"] != ACKNOWLEDGED_CLASS], ages, costs)
    drifted = _by_cluster(drift)
    flapping = Counter(row["cluster"] for row in history if row["flapping"])
    clusters = [
        _cluster(
            *(name, newest.get(name), drifted[name], flapping[name]),
            *(costs[name], plans[name], errors[name]),
        )
        for name in fleet.clusters
    ]
    clusters.sort(key=lambda c: (not c.errors, -c.drifted, c.name))
    latest = max((row["observed_at"] for row in newest.values()), default=None)
    return FleetFacts(
        tuple(clusters),
        tuple(drift),
        tuple(put_right(history, latest)),
        tuple(
            acknowledged_rows(
                [row for row in drift_rows if row["class"] == ACKNOWLEDGED_CLASS], ages
            )
        ),
        tuple(_trend(judged)),
    )


def _errors(lake: Lake, newest: Mapping[str, LakeRow]) -> Mapping[str, list[LakeRow]]:
    """The newest of each stage, by cluster, as far as the cluster has not been compared later."""
    last: dict[tuple[str, str], list[LakeRow]] = {}
    for row in sorted(lake.read(ERRORS).to_pylist(), key=_moment):
        newest_rows = last.setdefault((row["cluster"], row["stage"]), [])
        if newest_rows and _moment(newest_rows[0]) < _moment(row):
            newest_rows.clear()
        if _moment(row) >= _moment(newest.get(row["cluster"])):
            newest_rows.append(row)
    return _by_cluster(row for _, rows in sorted(last.items()) for row in rows)


def _moment(row: LakeRow | None) -> tuple[date, int]:
    return (date.min, 0) if row is None else (row["day"], row["hour"])


def _by_cluster(rows: Iterable[LakeRow]) -> Mapping[str, list[LakeRow]]:
    by_cluster: dict[str, list[LakeRow]] = defaultdict(list)
    for row in rows:
        by_cluster[row["cluster"]].append(row)
    return by_cluster


def _drift(
    drift_rows: Iterable[LakeRow],
    ages: Mapping[RowKey, LakeRow],
    costs: Mapping[str, Sequence[LakeRow]],
) -> list[LakeRow]:
    copies = {
        (r["cluster"], r["topic"], r["partition"]): r for rows in costs.values() for r in rows
    }
    rows = []
    for row in sorted(drift_rows, key=_place):
        movable = row["kind"] in MOVABLE  # one of a partition, whatever else differs there
        copy = copies.get((row["cluster"], row["topic"], row["partition"]), {}) if movable else {}
        rows.append(
            {
                **named(row),
                **{k: row[k] for k in ("class", "kind", "rule", "declared", "observed", "leader")},
                **{k: row[k] for k in ("detail", "owner")},
                **age_of(row, ages),
                "copy_bytes": copy.get("bytes", 0),
                "cross_rack_bytes": copy.get("cross_rack_bytes", 0),
            }
        )
    return sorted(rows, key=lambda r: not r["flapping"])


def _place(row: LakeRow) -> RowKey:
    """Where a row of drift stands among others: partitions by their number."""
    of = (row["topic"] or "", -1 if row["partition"] is None else row["partition"])
    return (
        row["cluster"],
        *of,
        -1 if row["broker"] is None else row["broker"],
        row["kind"],
        row["detail"] or "",
    )


def _cluster(
    name: str,
    judged: LakeRow | None,
    drift: Sequence[LakeRow],
    flapping: int,
    costs: Sequence[LakeRow],
    plans: Sequence[LakeRow],
    errors: Sequence[LakeRow],
) -> ClusterFacts:
    said = tuple({k: row[k] for k in ("stage", "file", "message")} for row in errors)
    if judged is None:
        return ClusterFacts(name, None, said)
    amounts: Counter[str] = Counter()
    for row in costs:
        if row["amount"] is not None:
            amounts[row["currency"]] += row["amount"]
    plan: LakeRow = plans[0] if plans else {}
    found = JudgedCluster(
        **{k: judged[k] for k in COMPARED},
        classes=dict(Counter(row["class"] for row in drift).most_common()),
        oldest=min((row["since"] for row in drift), default=None),
        flapping=flapping,
        copy_bytes=sum(row["bytes"] for row in costs),
        cross_rack_bytes=sum(row["cross_rack_bytes"] for row in costs),
        amounts=amounts,
        changes=plan.get("changes"),
        plan_seconds=plan.get("seconds"),
    )
    return ClusterFacts(name, found, said)


def _trend(judged: Iterable[LakeRow]) -> Iterable[LakeRow]:
    """At each hour in which anything was compared: the sum over the newest comparison of each cluster by then."""
    by_cluster: dict[str, int] = {}
    drifted = 0
    moments: dict[tuple[date, int], LakeRow] = {}
    for row in sorted(judged, key=lambda r: (_moment(r), r["cluster"])):
        drifted += row["drifted"] - by_cluster.get(row["cluster"], 0)
        by_cluster[row["cluster"]] = row["drifted"]
        when = f"{row['day']}T{row['hour']:02}:00:00Z"
        moments[_moment(row)] = {"at": when, "drifted": drifted, "clusters": len(by_cluster)}
    return moments.values()


def age_of(row: LakeRow, ages: Mapping[RowKey, LakeRow]) -> LakeRow:
    """Since when what drifts does so, and how often it began; what has no history yet began now."""
    age = ages.get(key_of(row), {})
    return {
        "since": age.get("since", row["observed_at"]),
        "spells": age.get("spells", 1),
        "flapping": age.get("flapping", False),
    }


def named(row: LakeRow) -> LakeRow:
    """What a row of drift or of a history is about, in words and by its parts: `a-1` may be a topic or a partition."""
    parts = {k: row[k] for k in ("topic", "partition", "broker")}
    return {
        "cluster": row["cluster"],
        "item": subject(row["topic"], row["partition"], row["broker"]),
        **parts,
    }


def put_right(history: Iterable[LakeRow], newest: str | None) -> list[LakeRow]:
    """What is gone since a week before the newest comparison at most, what flaps first, then the latest first.

    What is acknowledged by now is not put right: it is left as it is.
    """
    rows = list(history)
    accepted = {_partition_key(r) for r in rows if r["open"] and r["class"] == ACKNOWLEDGED_CLASS}
    oldest = None if newest is None else datetime.fromisoformat(newest) - RECENT_TIME
    resolved = [
        {
            **named(row),
            **{k: row[k] for k in ("class", "kind", "owner")},
            "since": row["since"],
            **{k: row[k] for k in ("resolved_at", "resolved_by", "spells", "flapping")},
        }
        for row in rows
        if oldest is not None
        and row["resolved_at"] is not None
        and row["class"] != ACKNOWLEDGED_CLASS
        and _partition_key(row) not in accepted
        and datetime.fromisoformat(row["resolved_at"]) >= oldest
    ]
    resolved.sort(key=lambda r: (r["cluster"], r["item"], r["kind"]))
    resolved.sort(key=lambda r: datetime.fromisoformat(r["resolved_at"]), reverse=True)
    return sorted(resolved, key=lambda r: not r["flapping"])


def acknowledged_rows(drift: Sequence[LakeRow], ages: Mapping[RowKey, LakeRow]) -> list[LakeRow]:
    """What the placements ask to leave alone, what ends first before the others."""
    acknowledged_drift = [
        {
            **named(row),
            "owner": row["owner"],
            "since": age_of(row, ages)["since"],
            "until": row["acknowledged_until"],
        }
        for row in drift
    ]
    return sorted(acknowledged_drift, key=lambda r: (r["until"] or "9999", r["cluster"], r["item"]))


def _partition_key(row: LakeRow) -> RowKey:
    return (row["cluster"], row["topic"], row["partition"])
