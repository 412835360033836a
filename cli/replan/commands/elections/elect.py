"""`elect preferred`: the first replica of each list leads again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.elections.election_scope import (
    ElectionScope,
    PlacementFiles,
    placement_of,
    save_elections,
)
from replan.commands.frame.output import is_live, keep_inputs, result
from replan.commands.inputs.options import AS, Allow, Detail, Pace
from replan.commands.inputs.target import LiveTarget
from replan.commands.inputs.unread import note_unread
from replan.errors import Exit

if TYPE_CHECKING:
    from replan.applying.views.outcome import Outcome


def elect_preferred(
    *,
    scope: ElectionScope,
    files: PlacementFiles = None,
    allow: Allow = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Elect nothing; save the plan of these elections, for `replan apply`.",
        ),
    ] = None,
    form: Annotated[Literal["text", "json"], AS] = "text",
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let preferred replicas lead again.

    The preferred replica of a partition is the first of its replica list. After a restart it is in sync again and
    another one still leads; this election gives the leadership back (KIP-183, KIP-460). Only partitions that are not
    led by their preferred replica are asked for, in batches, and afterwards their leaders are read again. No data
    moves. One whose preferred replica is not in sync is named, and stays as it is.

    Where auto.leader.rebalance.enable is true on the controllers, which is the default, this command is not needed:
    the controller does the same by itself, every 300 s (leader.imbalance.check.interval.seconds).

    Nothing is asked before it begins: the command is the request. Whatever Kafka's own tool takes is taken here, too:
    `replan elect --election-type preferred --all-topic-partitions --admin.config FILE`.

    Exit codes:
      0    each partition is led by its preferred replica
      1    an error
      2    with -o: there are elections to apply
      3    some preferred replicas cannot lead now (named); the others do. Or a limit refuses the whole plan
      4    another application or tool is in the way
      130  interrupted; run it again to resume

    Examples:
      replan elect preferred --all --bootstrap-server kafka-1:9092
      replan elect preferred --topic 'pay*' --simulated cluster.json --format json
    """
    from replan.commands.inputs.journals import known_of
    from replan.commands.inputs.plans import allowed_of, verdict
    from replan.commands.performing.application import check_free, perform, resumed
    from replan.planning.elections.preferred import preferred_elections
    from replan.reporting.application.outcome_text import (
        election_results,
        render_elections,
        render_elections_json,
    )

    keep_inputs(output, [*(files or ()), scope.election_file, cluster.simulated])
    placement, selection = placement_of(files, cluster), scope.selection()
    allowed = allowed_of(allow or ())
    with cluster.connect() as connection:
        seen = connection.control_plane.observe()
        note_unread(seen)
        found = preferred_elections(selection, seen, placement, allowed)

        def render(outcome: "Outcome | None") -> str:
            results = election_results(found, outcome)
            if form == "text":
                return render_elections(results, outcome, found.at_rest)
            return render_elections_json(seen.cluster_id, results, outcome, found.at_rest)

        if output is not None:
            save_elections(found.plan, output, cluster)
            result(render(None))
            return verdict(found.plan, exit_zero=False)
        ledger = known_of(cluster, connection, seen.cluster_id).ledger
        plan = resumed(ledger, found.plan.placement_digest) or found.plan
        check_free(ledger, plan)
        if not plan.changes:
            result(render(None))
            return plan.left_out
        settings = Pace().settings(watched=is_live(sys.stderr))
        return perform(plan, cluster, connection, settings, detail, render=render)
