"""The history of one cluster out of the lake: since when each thing drifts."""

from typing import Any

from replan.fleet.lake.delta import Lake, quoted
from replan.fleet.lake.tables import HISTORY, JUDGED


def since(lake: Lake, cluster_id: str) -> list[dict[str, Any]]:
    """The rows of the table `history` for the cluster of this id, the ended ones included; none where it has none."""
    where = f"cluster_id = {quoted(cluster_id)}"
    names = sorted(set(lake.read(JUDGED, where, ["cluster"]).column("cluster").to_pylist()))
    if not names:
        return []
    listed = ", ".join(quoted(name) for name in names)
    rows: list[dict[str, Any]] = lake.read(HISTORY, f"cluster IN ({listed})").to_pylist()
    return sorted(rows, key=str)
