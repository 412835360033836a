"""The command `diff`: what a change of placement files means, between files or git revisions."""

from typing import Annotated

import typer

from replan.commands.frame.output import result
from replan.commands.shared.options import (
    Everything,
    ExitZero,
    PlacementPaths,
    ReportForm,
    placement_files,
)
from replan.errors import Exit


def diff(
    *,
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A placement file or folder, or a git revision.")
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same; by default the files as they are.")
    ] = "",
    files: PlacementPaths = None,
    form: ReportForm = "text",
    everything: Everything = False,
    exit_zero: ExitZero = False,
) -> Exit:
    """Show what a change of placement files means.

    No cluster is asked. Replica lists are shown by what becomes of them: copies, drops, another order, another leader.
    All other keys are compared one by one. Layout, comments and the order of files do not count. Of a git revision the
    files of -f are read.

    Exit codes:
      0  both mean the same
      1  an error
      2  they differ (0 with --exit-zero)

    Examples:
      replan diff main
      replan diff old.yaml new.yaml --format markdown
    """
    from replan.commands.shared.revisions import placement_at
    from replan.reporting.plans import placement_difference as difference

    named = placement_files(files)
    differing = difference.compare_placements(placement_at(old, named), placement_at(new, named))
    match form:
        case "text":
            result(difference.render_placement_difference(differing, everything=everything))
        case "markdown":
            result(difference.render_placement_difference_markdown(differing))
        case "json":
            result(difference.render_placement_difference_json(differing))
    return Exit.OK if differing.none or exit_zero else Exit.CHANGES
