"""The history of one cluster out of the lake: since when each thing drifts."""

from collections.abc import Mapping

from msgspec import Struct

from replan.errors import BadFile
from replan.fleet.lake.delta import Lake, quoted
from replan.fleet.lake.tables import HISTORY, JUDGED
from replan.planning.findings.drift_report import Item, Spell


class KeptSpells(Struct, frozen=True):
    """The newest spell of each thing that has drifted, and when the cluster was compared last."""

    compared_at: str
    spells: Mapping[Item, Spell]


def kept_spells(lake: Lake, cluster_id: str) -> KeptSpells:
    """What the table `history` has of the cluster of this id; raises BadFile where it was never compared."""
    judged = lake.read(JUDGED, f"cluster_id = {quoted(cluster_id)}", ["cluster", "observed_at"])
    names = sorted(set(judged.column("cluster").to_pylist()))
    if not names:
        raise BadFile(
            f"{lake.place(HISTORY)}: cluster {cluster_id} was never compared; `replan fleet run` does that"
        )
    listed = ", ".join(quoted(name) for name in names)
    where = f"cluster IN ({listed}) AND cluster_id = {quoted(cluster_id)}"
    spells = {
        (r["topic"], r["partition"], r["broker"], r["kind"]): Spell(
            r["since"], r["resolved_at"], r["spells"], r["flapping"]
        )
        for r in lake.read(HISTORY, where).to_pylist()
    }
    return KeptSpells(max(judged.column("observed_at").to_pylist()), spells)
