"""Diff: the list that each partition should have, and where it is not so; by the kernel that `replan plan` calls.

What is acknowledged is no difference. Why something differs says `classify`.
"""

from collections.abc import Mapping

import pyarrow as pa

from replan.fleet.lake.tables import DECLARED, DIFFERENCES
from replan.fleet.tasks.work import Work
from replan.planning.comparison.diff import DifferenceKind


def diff(work: Work) -> Mapping[str, pa.Table]:
    """What is declared, and the partitions that differ; those on the way to it have the kind `running`."""
    return {DECLARED.name: _declared(work), DIFFERENCES.name: _differences(work)}


def _differences(work: Work) -> pa.Table:
    partitions, running = work.drift.partitions, work.drift.converging
    nothing = [None] * len(running)
    columns = {
        "topic": [*(d.topic for d in partitions), *(name.topic for name in running)],
        "partition": [*(d.partition for d in partitions), *(name.partition for name in running)],
        "kind": [
            *(d.kind.value for d in partitions),
            *[DifferenceKind.RUNNING.value] * len(running),
        ],
        "declared": [*(list(d.declared) for d in partitions), *nothing],
        "observed": [*(list(d.observed) for d in partitions), *nothing],
        "leader": [*(d.leader for d in partitions), *nothing],
    }
    return work.rows(DIFFERENCES, columns)


def _declared(work: Work) -> pa.Table:
    wanted = work.comparison.wanted.table
    columns = {
        "digest": pa.repeat(pa.scalar(work.placement.digest), wanted.num_rows),
        **{name: wanted.column(name) for name in ("topic", "partition", "replicas")},
    }
    return work.rows(DECLARED, columns)
