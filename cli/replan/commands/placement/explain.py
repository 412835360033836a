"""The command `explain`: why one partition is (not) where it was declared."""

from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.frame.output import result
from replan.commands.shared.options import (
    BalanceRates,
    ExitZero,
    PlacementPaths,
    TextOrJson,
    placement_files,
)
from replan.commands.shared.target import JournaledTarget
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.model.declared.placement import Placement
    from replan.model.names import TopicPartition
    from replan.model.rates import Rates
    from replan.model.snapshot import Snapshot
    from replan.reconciling.explaining import ByPolicy


def explain(
    *,
    partition: Annotated[
        str, typer.Argument(metavar="PARTITION", help="A partition, e.g. orders-7.")
    ],
    files: PlacementPaths = None,
    form: TextOrJson = "text",
    rates: BalanceRates = None,
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Explain why a partition is, or is not, where the placement wants it.

    Nothing is changed. It shows which entry of the placement counts and where it is written, what is observed, what
    differs, what a plan would do, and what holds it; where the placement has a policy, what `replan reconcile` does
    with it, too, and when.

    Exit codes:
      0  the partition is as declared, or not declared
      1  an error
      2  it differs (0 with --exit-zero)

    Examples:
      replan explain orders-7 --bootstrap-server kafka-1:9092
      replan explain orders-7 -f placements/ --snapshot cluster.json --format json
    """
    from replan.commands.shared.observed import observed
    from replan.commands.shared.plans import planning
    from replan.commands.shared.rates import chosen_rates
    from replan.model.names import parse_topic_partition
    from replan.placement_file.load import load_placement
    from replan.planning.explanation import explain_partition
    from replan.reporting.drift.explanation_text import render_explanation, render_explanation_json

    try:
        name = parse_topic_partition(partition)
    except ValueError as problem:
        raise BadUsage(f"{problem}; write e.g. orders-7") from problem
    placement, observation = load_placement(placement_files(files, cluster)), observed(cluster)
    written = chosen_rates(rates, None, None, cluster)
    with planning(placement, observation.snapshot):
        explanation = explain_partition(placement, observation.snapshot, name, written)
        policy = _by_policy(placement, observation.snapshot, name, written, cluster)
    match form:
        case "text":
            result(render_explanation(explanation, policy))
        case "json":
            result(render_explanation_json(explanation, policy))
    return Exit.CHANGES if explanation.kinds and not exit_zero else Exit.OK


def _by_policy(
    placement: "Placement",
    snapshot: "Snapshot",
    name: "TopicPartition",
    rates: "Rates | None",
    cluster: JournaledTarget,
) -> "tuple[ByPolicy, ...]":
    """What the loop does, by what it has kept in the journal; nothing without a policy."""
    from replan.commands.frame.output import note
    from replan.commands.shared.journals import kept_by_loop
    from replan.errors import BadFile, ClusterRefused, ClusterUnreachable
    from replan.reconciling.explaining import by_policy
    from replan.reconciling.history import History
    from replan.reconciling.memory import Memory

    if not placement.reconcile.put_right:
        return ()
    kept = Memory(), History()
    if cluster.snapshot is None:
        try:
            kept = kept_by_loop(cluster)
        except (ClusterRefused, ClusterUnreachable, BadFile) as error:
            note(f"note: what a loop remembers could not be read: {error}")
    return by_policy(placement, snapshot, name, kept, rates)
