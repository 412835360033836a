"""Plan: the plan of each cluster, to the byte the one that `replan plan --snapshot` saves."""

from collections.abc import Mapping
from hashlib import sha256

import pyarrow as pa

from replan.fleet.lake.tables import PLANS
from replan.fleet.tasks.work import Work
from replan.planning.making.planner import plan_of
from replan.planning.plans import plan_file
from replan.planning.plans.preview import estimate


def plan(work: Work) -> Mapping[str, pa.Table]:
    """One row: the plan, and what it comes to. Raises UnsafePlan where a limit refuses it."""
    made = plan_of(work.comparison)
    document = plan_file.dumps(made)
    costs = estimate(made)
    columns = {
        "digest": [sha256(document.encode()).hexdigest()],
        "changes": [made.steps],
        "refusals": [len(made.refusals)],
        "bytes": [costs.bytes],
        "seconds": [costs.seconds],
        "document": [document],
    }
    return {PLANS.name: work.rows(PLANS, columns)}
