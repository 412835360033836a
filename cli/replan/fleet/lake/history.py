"""The history of one cluster out of the lake: since when each thing drifts."""

from collections.abc import Mapping
from dataclasses import dataclass

from replan.errors import BadFile
from replan.fleet.lake.delta import Lake, quoted
from replan.fleet.lake.tables import HISTORY, JUDGED
from replan.planning.findings.drift_report import Item, Spell


@dataclass(frozen=True, slots=True)
class KeptSpells:
    """The newest spell of each thing that has drifted, and when the cluster was compared last."""

    compared_at: str
    spells: Mapping[Item, Spell]


def kept_spells(lake: Lake, cluster_id: str) -> KeptSpells:
    """What the table `history` has of the cluster of this id; raises BadFile where it was never compared.

    A history from before the column `since` has the first of all spells only; that is the newest where there was one.
    """
    judged = lake.read(JUDGED, f"cluster_id = {quoted(cluster_id)}", ["cluster", "observed_at"])
    names = sorted(set(judged.column("cluster").to_pylist()))
    if not names:
        raise BadFile(
            f"{lake.place(HISTORY)}: cluster {cluster_id} was never compared; `replan fleet run` does that"
        )
    listed = ", ".join(quoted(name) for name in names)
    found = lake.read(HISTORY, f"cluster IN ({listed})").to_pylist()
    rows = [r for r in found if r["cluster_id"] in {None, cluster_id}]
    spells = {
        (r["topic"], r["partition"], r["broker"], r["kind"]): Spell(
            r["since"] or (r["first_seen"] if r["spells"] == 1 else r["last_seen"]),
            r["resolved_at"],
            r["spells"],
            bool(r["flapping"]),
        )
        for r in rows
    }
    return KeptSpells(max(judged.column("observed_at").to_pylist()), spells)
