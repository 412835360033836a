"""Small fleets on disk, drawn from a seed: clusters that drifted in every way there is."""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from msgspec.structs import replace
from tests.builders import OBSERVED_AT, snapshot, state

from replan.fleet.api import (
    BY_INPUTS,
    COSTS,
    DECLARED,
    DIFFERENCES,
    DRIFT,
    DRIFT_STAGES,
    HISTORY,
    JUDGED,
    SNAPSHOTS,
    TABLES,
    Engine,
    Fleet,
    FleetCluster,
    FleetRun,
    Here,
    Hour,
    JudgedBatch,
    KeptSnapshot,
    Lake,
    LakeTable,
    SparkTarget,
    Stage,
    Todo,
    judge_batch,
    judge_fleet,
    judged_folders,
    keep_snapshots,
    kept_in,
    run_history,
)
from replan.model.api import (
    BrokerId,
    PartitionState,
    RememberedOrder,
    Snapshot,
    TopicId,
    TopicPartition,
)
from replan.snapshots.api import write_snapshot

CLOCK = datetime(2026, 11, 22, 5, tzinfo=UTC)
NOW = Hour.at(CLOCK)
BEGIN = datetime(2026, 11, 21, tzinfo=UTC)
COMPARED = (DECLARED, DIFFERENCES, DRIFT, JUDGED, COSTS, HISTORY)
TOPICS = ("clicks", "orders", "payments")
BAD, GOOD = [1, 2, 3], [1, 2, 4]
ORDERS = f"version: 1\nassignments: {{orders: {{partitions: [{GOOD}]}}}}\n"
BROKEN = "version: 1\nassignment: 3\n"
NO_COLUMNS: Mapping[str, Sequence[str]] = {}


def observed(
    members: Sequence[int], at: str = OBSERVED_AT, *, cluster_id: str = "eu", size: int = 0
) -> Snapshot:
    """A cluster whose one partition, orders-0, has these replicas."""
    seen = snapshot([state(members, size=size)], observed_at=at)
    return replace(seen, cluster_id=cluster_id)


def at_hour(hour: float) -> str:
    """So many hours after the beginning of 21 November."""
    return (BEGIN + timedelta(hours=hour)).isoformat().replace("+00:00", "Z")


def write_fleet_file(file: Path, clusters: Mapping[str, str], lake: str = "lake") -> None:
    """Write a fleet file of these entries."""
    lines = [f"  {name}: {{{entry}}}\n" for name, entry in clusters.items()]
    file.write_text(f"version: 1\nlake: {lake}\nclusters:\n{''.join(lines)}")


def drawn_fleet(seeds: Iterable[int], sources: str = "") -> dict[str, str]:
    """The entries of a fleet file for what `write_fleet` writes, below an address."""
    ends = {s: (".json" if s % 2 else "", ".yaml" if s % 3 else "") for s in seeds}
    return {
        f"fleet-{seed}": f"snapshot: '{sources}snapshots/cluster-{seed}{snapshot}', "
        f"placement: '{sources}placements/cluster-{seed}{placement}'"
        for seed, (snapshot, placement) in ends.items()
    }


class Clusters:
    """A lake of the clusters eu and us, both declared to be GOOD."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.placement = home / "placement.yaml"
        self.declare(GOOD)
        self.lake = Lake(str(home / "lake"))
        named = {n: FleetCluster(n, placement=self.placement) for n in ("eu", "us")}
        self.fleet = Fleet(named, self.lake.address)

    def declare(self, members: list[int]) -> None:
        self.placement.write_text(ORDERS.replace(str(GOOD), str(members)))

    def arrive(self, hour: float, members: Sequence[int], name: str = "eu") -> Hour:
        return keep_snapshot(self.lake, observed(members, at_hour(hour), cluster_id=name), name)

    def run(self, hour: float, *stages: Stage) -> FleetRun:
        """What `fleet run` does at an hour, once it has collected."""
        asked = stages or BY_INPUTS
        now = BEGIN + timedelta(hours=hour)
        found = judge_fleet(self.fleet, self.lake, asked, Here(), now)
        run_history(self.lake, self.fleet.clusters, Here())
        return found

    def watched(self, hour: float, *strangers: str) -> JudgedBatch:
        """What `fleet watch` judges at an hour, of these clusters and others."""
        now = BEGIN + timedelta(hours=hour)
        days = [(name, str(BEGIN.date())) for name in (*self.fleet.clusters, *strangers)]
        return judge_batch(days, self.fleet, self.lake, now, Here())

    def rows(self, *tables: LakeTable) -> dict[str, list[str]]:
        """Rows, less which stages were asked for together."""
        return rows_of(self.lake, *(tables or COMPARED), less={JUDGED.name: ["stages"]})

    def judged(self) -> list[tuple[str, int, int]]:
        rows = self.lake.read(JUDGED).to_pylist()
        return sorted((r["cluster"], r["hour"], r["drifted"]) for r in rows)


def sized(todo: Todo, partitions: int) -> Todo:
    """The same, of clusters of so many partitions by what their tasks say."""
    tasks = (replace(task, partitions=partitions) for task in todo.tasks)
    return replace(todo, tasks=tuple(tasks))


def rows_of(
    lake: Lake, *tables: LakeTable, less: Mapping[str, Sequence[str]] = NO_COLUMNS
) -> dict[str, list[str]]:
    """The rows of all tables, or of these, as text; of some tables less some columns."""
    return {
        table.name: sorted(
            str(row | dict.fromkeys(less.get(table.name, ())))
            for row in lake.read(table).to_pylist()
        )
        for table in tables or TABLES.values()
    }


def keep_snapshot(lake: Lake, seen: Snapshot, cluster: str) -> Hour:
    """Write a snapshot under its cluster's name; its hour."""
    (hour,) = keep_snapshots(lake, [(cluster, seen)])
    return hour


def kept_snapshots(lake: Lake, clusters: Container[str] | None = None) -> list[KeptSnapshot]:
    """The snapshots that there are, or those of some clusters, oldest first within each cluster."""
    found = lake.files(SNAPSHOTS)
    names = sorted(name for name in found if clusters is None or name in clusters)
    return [kept for name in names for kept in kept_in(lake, found[name])]


def drawn_snapshot(seed: int) -> Snapshot:
    """A cluster of five brokers and three topics, some partitions out of sync or on the way."""
    chance = Random(seed)  # noqa: S311 - the same fleet every time
    states = [_drawn(chance, topic, p) for topic in TOPICS for p in range(chance.randint(1, 6))]
    made = snapshot(states)
    remembered = {
        s.partition: RememberedOrder(tuple(reversed(s.replicas)), s.topic_id)
        for s in states
        if chance.random() < 0.1
    }
    return replace(made, cluster_id=f"cluster-{seed}", remembered=remembered)


def _drawn(chance: Random, topic: str, partition: int) -> PartitionState:
    listed = chance.sample(range(1, 6), 3)
    isr = [b for b in listed if chance.random() < 0.8]
    adding = [4] if chance.random() < 0.1 and 4 in listed else []
    return state(
        listed,
        isr,
        leader=chance.choice(isr) if isr else None,
        adding=adding,
        topic=topic,
        partition=partition,
        topic_id=TopicId(f"id-of-{topic}"),
        size=chance.randint(0, 10**9),
    )


def drawn_placement(seed: int, found: Snapshot, name: str) -> str:
    """A placement for it: mostly what is there, some of it otherwise, some of it not there at all."""
    chance = Random(seed)  # noqa: S311 - the same fleet every time
    lines = ["version: 1", f"cluster: {{name: {name}, id: {found.cluster_id}}}", "assignments:"]
    for topic in TOPICS[: chance.randint(1, 3)]:
        count = len(found.topic_rows(topic))
        if chance.random() < 0.3 and count > 1:
            count -= 1  # the list form declares the count: one partition is beyond it
        lines += [f"  {topic}:", "    partitions:"]
        lines += [f"      - {_declared(chance, found, topic, p)}" for p in range(count)]
    if chance.random() < 0.5:
        lines += ["  nowhere:", "    partitions: {0: [1, 2, 3]}"]
    if chance.random() < 0.5:
        first = found.partition(TopicPartition("orders", 0))
        if first is not None:
            lines += ["preferredLeaders:", f"  orders: {{0: {_preferred(lines, first)}}}"]
    if chance.random() < 0.5:
        until = chance.choice(["", ", until: caught-up"])
        lines += ["blacklists:", "  leaders:", f"    - {{broker: {chance.randint(1, 5)}{until}}}"]
    return "\n".join(lines) + "\n"


def _declared(chance: Random, found: Snapshot, topic: str, partition: int) -> list[BrokerId]:
    seen = found.partition(TopicPartition(topic, partition))
    listed = [] if seen is None else list(seen.replicas)
    if chance.random() < 0.3 or not listed:
        return [BrokerId(b) for b in chance.sample(range(1, 6), 3)]
    if chance.random() < 0.3:
        chance.shuffle(listed)
    return listed


def _preferred(lines: list[str], seen: PartitionState) -> BrokerId:
    """The last of the list that orders-0 has: the declared one, or the one it stands in."""
    if "  orders:" in lines:
        declared = lines[lines.index("  orders:") + 2].strip("- []")
        return BrokerId(int(declared.split(",")[-1]))
    return seen.replicas[-1]


def write_fleet(home: Path, seeds: Iterable[int]) -> tuple[Path, Path]:
    """Folders of snapshots and placements, in both forms each."""
    snapshots, placements = home / "snapshots", home / "placements"
    snapshots.mkdir()
    placements.mkdir()
    for seed in seeds:
        found = drawn_snapshot(seed)
        name = f"cluster-{seed}"
        write_snapshot(found, snapshots / (f"{name}.json" if seed % 2 else name))
        text = drawn_placement(seed, found, f"fleet-{seed}")
        if seed % 3:
            (placements / f"{name}.yaml").write_text(text)
        else:
            (placements / name).mkdir()
            (placements / name / "all.yaml").write_text(text)
    return snapshots, placements


def found_in(
    home: Path,
    stages: Sequence[Stage] = DRIFT_STAGES,
    where: SparkTarget | None = None,
    now: datetime = CLOCK,
) -> FleetRun:
    """What the stages find of the folders of a fleet, read before its lake is gone."""
    folders = home / "snapshots", home / "placements"
    with judged_folders(*folders, stages, where or SparkTarget(Engine.LOCAL), now) as found:
        return replace(found, rows=dict(found.rows))
