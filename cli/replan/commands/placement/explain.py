"""The command `explain`: why one partition is (not) where it was declared."""

from typing import Annotated, Literal

import typer

from replan.commands.frame.output import result
from replan.commands.inputs.options import AS, BalanceRates, ExitZero, Files, placement_files
from replan.commands.inputs.target import JournaledTarget
from replan.errors import BadUsage, Exit


def explain(
    *,
    partition: Annotated[
        str, typer.Argument(metavar="PARTITION", help="A partition, e.g. orders-7.")
    ],
    files: Files = None,
    form: Annotated[Literal["text", "json"], AS] = "text",
    rates: BalanceRates = None,
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Explain why a partition is, or is not, where the placement wants it.

    Nothing is changed. It shows which entry of the placement counts and where it is written, what is observed, what
    differs, what a plan would do, and what holds it.

    Exit codes:
      0  the partition is as declared, or not declared
      1  an error
      2  it differs (0 with --exit-zero)

    Examples:
      replan explain orders-7 --bootstrap-server kafka-1:9092
      replan explain orders-7 -f placements/ --snapshot cluster.json --format json
    """
    from replan.commands.inputs.observed import observed
    from replan.commands.inputs.plans import planning
    from replan.commands.inputs.rates import rates_of
    from replan.model.names import parse_topic_partition
    from replan.placement_file.load import load_placement
    from replan.planning.explanation import explain as explain_partition
    from replan.reporting.drift.explanation_text import render_explanation, render_explanation_json

    try:
        name = parse_topic_partition(partition)
    except ValueError as problem:
        raise BadUsage(f"{problem}; write e.g. orders-7") from problem
    placement, seen = load_placement(placement_files(files, cluster)), observed(cluster)
    written = rates_of(rates, None, None, cluster)
    with planning(placement, seen.snapshot):
        found = explain_partition(placement, seen.snapshot, name, written)
    result(render_explanation(found) if form == "text" else render_explanation_json(found))
    return Exit.CHANGES if found.kinds and not exit_zero else Exit.OK
