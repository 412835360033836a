"""What is to be done for one cluster at one moment, and what it is done with; each part is read once, when needed.

A task is a row, so that it travels to where it is done: a process of this machine, or a Spark executor. The stages
(`stages`) are functions of the work to rows of the lake's tables. Does not belong here: what the stages find.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec.json
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import fields, replace

from replan.errors import BadPlacement
from replan.fleet.fleet_file import FleetCluster
from replan.fleet.lake.delta import Hour, Lake, lake_at, table_rows
from replan.fleet.lake.files import read_aside
from replan.fleet.lake.rates_and_spells import rates_of, rates_until
from replan.fleet.lake.snapshots import read_kept, topics_at
from replan.fleet.lake.store import files_at, in_store
from replan.fleet.lake.tables import SNAPSHOTS, LakeTable
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Prices
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.placement_file.load import load_sources
from replan.placement_file.read import texts_of
from replan.placement_file.sources import SUFFIXES, Source, decoded_source
from replan.placement_file.yaml_text import fastest_parser
from replan.planning.by_topic import ClusterPart, parts_by_topic
from replan.planning.compared import Comparison, compared
from replan.planning.findings.drift import Drift, drift_of


class Task(Struct, frozen=True):
    """One cluster and moment."""

    cluster: str
    cluster_id: str
    observed_at: str
    placement: str
    """An absolute path, since an executor works elsewhere, or an address."""
    lake: str
    """Where its snapshot is."""
    named: str = ""
    """The placement as the fleet file names it, and so whatever is said of a place in it; empty: as it is read."""
    owners: str = "{}"
    """JSON, as the fleet file has them."""
    prices: str | None = None
    """JSON, likewise."""
    inputs: str | None = None
    """What it is judged by: the digest of program and options, and of the placement; None where nobody asks for it."""
    stages: str | None = None
    """The stages that are asked for."""
    partitions: int = 0
    """About how many there are."""
    shares: int = 0
    """In so many tasks, by topic, the rates of a large cluster are found, and all else in another; 0: all in one."""
    share: int = 0
    """Which of these it is, from 1; 0: all else."""
    part: str | None = None
    """The file of the part of a giant cluster that is compared; None: it is compared whole."""
    small: str | None = None
    """JSON: by table a day and the small files of the cluster that are to be merged."""

    @property
    def hour(self) -> Hour:
        """What its rows replace."""
        return Hour.of(self.cluster, self.observed_at)


TASKS = pa.schema(
    [
        pa.field(f.name, pa.int64() if f.type is int else pa.string(), nullable=f.default is None)
        for f in fields(Task)
    ]
)


class Work:
    """A task with what it needs, read and found at the first use."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.owners = FleetCluster(task.cluster, owners=json.loads(task.owners))
        self.found_rates: pa.Table | None = None
        """The rates of its hour, where they are found before it is compared; as rows of the table."""

    @property
    def lake(self) -> Lake:
        """Where it is from."""
        return lake_at(self.task.lake)

    @cached_property
    def snapshot(self) -> Snapshot:
        """What was observed; raises BadFile."""
        return read_kept(self.lake, self.task.hour, self.part and self.part.topics)

    @cached_property
    def part(self) -> ClusterPart | None:
        """What a part of a cluster is compared with, and the rest of it not; raises BadFile."""
        path = self.task.part
        return None if path is None else ClusterPart.of(read_aside(self.lake, path))

    def parts(self, count: int) -> Iterator[ClusterPart]:
        """The cluster in so many parts, none where it has to be compared whole; raises ReplanError."""
        lake, hour = self.lake, self.task.hour
        brokers = lake.rows(SNAPSHOTS, hour, ["hour", "brokers"])["brokers"]
        throttles = pc.list_value_length(pc.struct_field(brokers, "configs"))
        if not pc.sum(throttles).as_py():  # they stay behind where nothing moves in any topic
            yield from parts_by_topic(self.placement, topics_at(lake, hour), count)

    @cached_property
    def sources(self) -> Sequence[Source]:
        """The files of the placement; raises BadPlacement, and BadFile where it is in a store that has it not."""
        place, named = self.task.placement, self.task.named or self.task.placement
        sources = sources_at(place)
        return [replace(source, name=named + source.name.removeprefix(place)) for source in sources]

    @cached_property
    def placement(self) -> Placement:
        """What is declared; raises BadPlacement, and BadFile likewise."""
        return self.part.placement if self.part else load_sources(self.sources, fastest_parser())

    @property
    def inputs(self) -> str | None:
        """What the task says of what it is judged by, with the placement as it was read here: it may have changed."""
        asked = self.task.inputs
        if self.part or asked is None:
            return asked
        return asked.partition("-")[0] + f"-{digest_of_sources(self.sources)}"

    @cached_property
    def comparison(self) -> Comparison:
        """The two compared; raises WrongCluster."""
        return compared(self.placement, self.snapshot, self._rates())

    def _rates(self) -> Rates | None:
        """What producers write, where the balance goes by it: by this hour's rates, or the newest before it.

        Of a cluster whose rates are found apart this hour's do not count: they may be there at a second try alone.
        """
        balance = self.placement.balance
        wanted = balance is not None and any(t.measure.needs_rates for t in balance.tolerances)
        if not wanted:
            return None
        if self.found_rates is not None:
            return rates_of(self.found_rates, self.task.cluster_id)
        hour, is_divided = self.task.hour, self.task.shares or self.task.part
        last = replace(hour, hour=hour.hour - 1) if is_divided else hour
        kept = rates_until(self.lake, self.task.cluster_id, last)
        return None if kept is None else kept.rates

    @cached_property
    def drift(self) -> Drift:
        """What differs."""
        drift = drift_of(self.comparison)
        return self.part.drift(drift) if self.part else drift

    @cached_property
    def prices(self) -> Prices | None:
        """What copies and storage cost."""
        return msgspec.json.decode(self.task.prices or "null", type=Prices | None)

    def rows(self, table: LakeTable, columns: Mapping[str, Any]) -> pa.Table:
        """Rows of a table: those columns, lists or arrays, and what is the same in all rows."""
        return table_rows(
            table, columns, self.task.hour, self.task.cluster_id, self.task.observed_at
        )


def sources_at(place: str) -> list[Source]:
    """The files of a placement at a path, or at an address of a store, each read once; raises BadPlacement, BadFile."""
    if not in_store(place):
        return texts_of([Path(place)])
    files = files_at(place)
    texts = [
        decoded_source(name, raw) for name, raw in files.items() if Path(name).suffix in SUFFIXES
    ]
    if not texts:
        raise BadPlacement(f"{place}: there is no *.yaml and no *.yml; check the address")
    return texts


def digest_of_sources(sources: Iterable[Source]) -> str:
    """The digest of the texts with the names of their files."""
    digest = sha256()
    for source in sources:
        digest.update(
            f"{Path(source.name).name}\0".encode() + sha256(source.text.encode()).digest()
        )
    return digest.hexdigest()
