"""`elect preferred`: the first of each list leads; `best-log`, `unclean`, `designated`: partitions are led again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.elections.election_scope import (
    ElectionScope,
    PlacementFiles,
    placement_to_keep,
)
from replan.commands.elections.recovering import RecoveryOptions, recover
from replan.commands.frame.output import is_live, keep_inputs, result
from replan.commands.shared.options import Allow, Detail, Pace, TextOrJson, placement_files
from replan.commands.shared.target import LiveTarget
from replan.commands.shared.unread import note_unread
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
    form: TextOrJson = "text",
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
    from replan.commands.shared.application import check_free, perform, plan_to_resume
    from replan.commands.shared.journals import journal_state
    from replan.commands.shared.plans import allowed_of, save_plan, verdict
    from replan.planning.elections.preferred import preferred_elections
    from replan.reporting.application.outcome_text import (
        election_results,
        render_elections,
        render_elections_json,
    )

    keep_inputs(output, [*placement_files(files, cluster), scope.election_file, cluster.simulated])
    placement, selection = placement_to_keep(files, cluster), scope.selection()
    allowed = allowed_of(allow or ())
    with cluster.connect() as connection:
        snapshot = connection.control_plane.observe()
        note_unread(snapshot)
        elections = preferred_elections(selection, snapshot, placement, allowed)

        def render(outcome: "Outcome | None") -> str:
            results = election_results(elections, outcome)
            match form:
                case "text":
                    return render_elections(results, outcome, elections.at_rest)
                case "json":
                    at_rest = elections.at_rest
                    return render_elections_json(snapshot.cluster_id, results, outcome, at_rest)

        if output is not None:
            save_plan(elections.plan, output, cluster)
            result(render(None))
            return verdict(elections.plan, exit_zero=False)
        ledger = journal_state(cluster, connection, snapshot.cluster_id).ledger
        plan = plan_to_resume(ledger, elections.plan.placement_digest) or elections.plan
        check_free(ledger, plan)
        if not plan.changes:
            result(render(None))
            return plan.left_out
        settings = Pace().settings(watched=is_live(sys.stderr))
        return perform(plan, cluster, connection, settings, detail, render=render)


def elect_best_log(
    *,
    scope: ElectionScope,
    strategy: Annotated[
        Literal["balanced", "aggressive"],
        typer.Option(
            help="balanced: refuse while a replica that may have a better log does not say what it has. aggressive: "
            "take the best log of those that answer."
        ),
    ] = "balanced",
    options: RecoveryOptions,
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let the best surviving log lead partitions without a leader.

    Kafka's own unclean election takes the first live replica of the list, however much it lost. This asks every live
    replica where its log ends and of which epoch its last record is, puts the best one first, and elects it: the
    highest epoch, then the longest log (KIP-966). What each replica has and lacks is shown before anything is done,
    with the records that are lost at least; afterwards the loss is measured. A member of the ISR or of the eligible
    leader replicas that is back is elected cleanly, without --unclean.

    Refused while a replica that was in sync last may still return, unless --give-up-on names it. All replicas are asked
    again right before each request; a partition whose logs differ by then is left as it is.

    Exit codes:
      0    led again, or nothing to do
      1    an error, or not approved
      2    with -o: there are elections to apply
      3    some partitions are refused, or would need --unclean; nothing unclean was done without it
      4    another application or tool is in the way
      130  interrupted; run it again to resume

    Examples:
      replan elect best-log --all --bootstrap-server kafka-1:9092
      replan elect best-log --topic orders --give-up-on 1 --unclean --bootstrap-server kafka-1:9092
    """
    from replan.planning.recovery.recovery import RecoveryMethod

    return recover(RecoveryMethod(strategy), scope, options, detail, cluster)


def elect_unclean(
    *,
    scope: ElectionScope,
    options: RecoveryOptions,
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let the first live replica lead partitions without a leader, as Kafka's own unclean election does.

    It may have lost more than another one: what each has is shown first. `replan elect best-log` chooses the best.

    Exit codes:
      0    led again, or nothing to do
      1    an error, or not approved
      2    with -o: there are elections to apply
      3    some partitions are refused, or would need --unclean; nothing unclean was done without it
      4    another application or tool is in the way
      130  interrupted; run it again to resume

    Examples:
      replan elect unclean --topic logs --unclean --bootstrap-server kafka-1:9092
      replan elect unclean --partition logs-0 --give-up-on 1 --unclean --bootstrap-server kafka-1:9092
    """
    from replan.planning.recovery.recovery import RecoveryMethod

    return recover(RecoveryMethod.UNCLEAN, scope, options, detail, cluster)


def elect_designated(
    *,
    scope: ElectionScope,
    leader: Annotated[
        int | None,
        typer.Option(
            metavar="BROKER",
            min=0,
            help="Who is to lead; not needed where the election file names a desiredLeader for each partition.",
        ),
    ] = None,
    only_leaderless: Annotated[
        bool,
        typer.Option(
            "--only-leaderless",
            help="Leave partitions that are led as they are, as `--election-type designation` does.",
        ),
    ] = False,
    options: RecoveryOptions,
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let a replica that is named lead.

    Without a leader: cleanly if it is in sync or eligible; otherwise unclean, which needs --unclean. Where another
    replica leads: it comes first in the list and is elected, if it is in sync; nothing is lost, no data moves. The next
    plan puts the order back that a placement declares, and `preferredLeaders` there changes that. KIP-966's designation
    (--election-type designation) calls an election not needed where there is a leader.

    Exit codes:
      0    led again, or nothing to do
      1    an error, or not approved
      2    with -o: there are elections to apply
      3    some partitions are refused, or would need --unclean; nothing unclean was done without it
      4    another application or tool is in the way
      130  interrupted; run it again to resume

    Examples:
      replan elect designated --partition orders-7 --leader 3 --bootstrap-server kafka-1:9092
      replan elect designated --election-file leaders.json --unclean --bootstrap-server kafka-1:9092
    """
    from replan.planning.recovery.recovery import RecoveryMethod

    return recover(
        RecoveryMethod.DESIGNATED,
        scope,
        options,
        detail,
        cluster,
        leader=leader,
        moves_led=not only_leaderless,
    )
