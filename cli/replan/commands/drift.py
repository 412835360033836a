"""The command `drift`."""

from typing import Annotated

from replan.commands.options import AS, DEFAULT_FILES, Everything, ExitZero, Files, Form
from replan.commands.output import result
from replan.commands.target import JournaledTarget
from replan.errors import Exit


def drift(
    *,
    files: Files = DEFAULT_FILES,
    form: Annotated[Form, AS] = "text",
    everything: Everything = False,
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show where the cluster differs from the placement.

    Nothing is changed and nothing is planned: replicas, orders, leaders and throttles are compared. What a running
    `replan apply` is moving to the declared list is no drift.

    Exit codes:
      0  no drift
      1  an error
      2  drift (0 with --exit-zero)

    Examples:
      replan drift --bootstrap-server kafka-1:9092
      replan drift -f placements/ --snapshot cluster.json --format json
    """
    from replan.commands.observed import observed
    from replan.manifest.load import load_placement
    from replan.planning.drift import find_drift
    from replan.reporting.drift_text import render_drift, render_drift_json, render_drift_markdown

    seen = observed(cluster)
    own = seen.application
    heading = {} if own is None else own.targets
    at_work = own is not None and own.process is not None
    found = find_drift(load_placement(files), seen.snapshot, heading, at_work=at_work)
    match form:
        case "text":
            result(render_drift(found, everything=everything))
        case "markdown":
            result(render_drift_markdown(found))
        case "json":
            result(render_drift_json(found))
    return Exit.OK if found.none or exit_zero else Exit.CHANGES
