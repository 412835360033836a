"""Classify: what is not where it is declared, and who must act. As `replan drift` finds it.

What the placement acknowledges is there too, as class `acknowledged`, so that the history knows until when; it is not
counted.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replan.fleet.lake.tables import DRIFT, JUDGED
from replan.fleet.tasks.work import Work
from replan.planning.comparison.acknowledged import acknowledgements_of
from replan.planning.comparison.alignment import partition_rows
from replan.planning.findings.drift_classes import Difference

ACKNOWLEDGED_CLASS = "acknowledged"


def classify(work: Work) -> Mapping[str, pa.Table]:
    """What drifted, by class, and that the cluster was compared."""
    drifted = work.drift.drifted
    numbers = {
        "digest": [work.placement.digest],
        "partitions": [work.comparison.wanted.table.num_rows],
        "drifted": [len(drifted)],
        "converging": [len(work.drift.differences) - len(drifted)],
        "acknowledged": [len(work.drift.acknowledged)],
        "inputs": [work.inputs],
        "stages": [work.task.stages],
    }
    return {
        DRIFT.name: pa.concat_tables([drift_rows(work, drifted), _acknowledged(work)]),
        JUDGED.name: work.rows(JUDGED, numbers),
    }


def summed(judged: pa.Table) -> pa.Table:
    """What the parts of a cluster say of it, as one row of `judged`."""
    row = judged.slice(0, 1).to_pylist()[0]
    numbers = [field.name for field in JUDGED.columns if field.type == pa.int64()]
    row |= {name: pc.sum(judged[name]).as_py() for name in numbers}
    row["inputs"] = None if judged["inputs"].null_count else row["inputs"]
    return pa.Table.from_pylist([row], JUDGED.schema)


def drift_rows(work: Work, differences: Sequence[Difference]) -> pa.Table:
    """What drifted as rows of `drift`."""
    if not differences:
        return DRIFT.schema.empty_table()
    columns = {
        **{
            name: [getattr(c, name) for c in differences]
            for name in ("topic", "partition", "broker")
        },
        "class": [c.drift_class.value for c in differences],
        "kind": [str(c.kind) for c in differences],
        "declared": [list(c.declared) for c in differences],
        "observed": [list(c.observed) for c in differences],
        "leader": [c.leader for c in differences],
        "bytes": _bytes(work, differences),
        "rule": [c.rule.value for c in differences],
        "detail": [c.detail or None for c in differences],
        "owner": [work.owners.owner_of(c.topic) for c in differences],
    }
    return work.rows(DRIFT, columns)


def _acknowledged(work: Work) -> pa.Table:
    names = work.drift.acknowledged
    entries = acknowledgements_of(names, work.placement, work.snapshot)
    columns = {
        "topic": [name.topic for name in names],
        "partition": [name.partition for name in names],
        "class": [ACKNOWLEDGED_CLASS] * len(names),
        "kind": [ACKNOWLEDGED_CLASS] * len(names),
        "owner": [work.owners.owner_of(name.topic) for name in names],
        "acknowledged_until": [None if entry is None else entry.expires for entry in entries],
    }
    return work.rows(DRIFT, columns)


def _bytes(work: Work, differences: Sequence[Difference]) -> pa.Array:
    """The size of each partition, null of what is none that there is."""
    numbers = [-1 if c.partition is None else c.partition for c in differences]
    names = {
        "topic": [c.topic or "" for c in differences],
        "partition": pa.array(numbers, pa.int32()),
    }
    rows = partition_rows(pa.table(names), work.snapshot.partitions)
    return work.snapshot.partitions.column("bytes").take(
        pa.array(rows, mask=np.asarray(rows < 0), type=pa.int64())
    )
