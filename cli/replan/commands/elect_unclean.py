"""`elect best-log`, `elect unclean`, `elect designated`: partitions that nobody leads are led again."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.elect import ElectionScope, PlacementFiles, placement_of
from replan.commands.options import AS, Allow, Detail, Pace
from replan.commands.output import is_live, keep_inputs, note, report_outcome, result, save
from replan.commands.tails import SaveTails, save_tails
from replan.commands.target import LiveTarget
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.commands.target import Connection
    from replan.model.names import BrokerId, TopicPartition
    from replan.model.replica_logs import LogsFound
    from replan.planning.elections.recover import RecoveryElections, RecoveryRequest
    from replan.planning.plan import Plan
    from replan.planning.recovery.recovery import Method


@dataclass(frozen=True)
class RecoveryOptions:
    """What the three commands have in common, beside which partitions."""

    unclean: Annotated[
        bool,
        typer.Option(
            "--unclean",
            help="Allow elections that lose records. Without it only what can be recovered cleanly is.",
        ),
    ] = False
    give_up_on: Annotated[
        list[int] | None,
        typer.Option(
            "--give-up-on",
            metavar="BROKER",
            help="Do not wait for this broker, although it may have a better log; repeatable.",
        ),
    ] = None
    before: Annotated[
        Path | None,
        typer.Option(
            metavar="SNAPSHOT",
            help="An earlier snapshot with logs (replan snapshot --logs): what it knew of brokers that are dead now "
            "counts in the stated loss.",
        ),
    ] = None
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Do not ask before an unclean election.")
    ] = False
    save_tails: SaveTails = None
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Elect nothing; save the plan of these elections, for `replan apply --unclean`.",
        ),
    ] = None


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
    files: PlacementFiles = None,
    allow: Allow = None,
    form: Annotated[Literal["text", "json"], AS] = "text",
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let the best surviving log lead partitions that nobody leads.

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
    from replan.planning.recovery.recovery import Method

    return _recover(
        Method(strategy), scope, options, files, allow, form, detail, cluster, leader=None
    )


def elect_unclean(
    *,
    scope: ElectionScope,
    options: RecoveryOptions,
    files: PlacementFiles = None,
    allow: Allow = None,
    form: Annotated[Literal["text", "json"], AS] = "text",
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let the first live replica lead partitions that nobody leads, as Kafka's own unclean election does.

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
    from replan.planning.recovery.recovery import Method

    return _recover(
        Method.UNCLEAN, scope, options, files, allow, form, detail, cluster, leader=None
    )


def elect_designated(
    *,
    scope: ElectionScope,
    leader: Annotated[
        int | None,
        typer.Option(
            metavar="BROKER",
            help="Who is to lead; not needed where the election file names a desiredLeader for each partition.",
        ),
    ] = None,
    options: RecoveryOptions,
    files: PlacementFiles = None,
    allow: Allow = None,
    form: Annotated[Literal["text", "json"], AS] = "text",
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Let a replica that is named lead partitions that nobody leads.

    Cleanly where it is in sync or eligible; otherwise unclean, which needs --unclean. A partition that is led already
    needs no election (KIP-966's designation); `preferredLeaders` of a placement changes who leads it.

    Exit codes:
      0    led again, or nothing to do
      1    an error, or not approved
      2    with -o: there are elections to apply
      3    some partitions are refused, or would need --unclean; nothing unclean was done without it
      4    another application or tool is in the way
      130  interrupted; run it again to resume

    Examples:
      replan elect designated --partition orders-7 --leader 3 --unclean --bootstrap-server kafka-1:9092
      replan elect designated --election-file leaders.json --unclean --bootstrap-server kafka-1:9092
    """
    from replan.planning.recovery.recovery import Method

    return _recover(
        Method.DESIGNATED, scope, options, files, allow, form, detail, cluster, leader=leader
    )


def _recover(
    method: "Method",
    scope: ElectionScope,
    options: RecoveryOptions,
    files: list[Path] | None,
    allow: list[str] | None,
    form: str,
    detail: Detail,
    cluster: LiveTarget,
    *,
    leader: int | None,
) -> Exit:
    from replan.applying.probing import with_logs
    from replan.commands.plans import allowed_of, apply_command, verdict
    from replan.planning import plan_file
    from replan.planning.elections.recover import partitions_to_probe, recovery_elections

    inputs = [*(files or ()), scope.election_file, options.before, cluster.simulated]
    keep_inputs(options.output, inputs)
    placement, allowed = placement_of(files, cluster), allowed_of(allow or ())
    formerly = _formerly(options.before)
    with cluster.connect() as connection:
        begun = _begun(cluster, connection)
        seen = connection.control_plane.observe()
        asked = _request(method, scope, options, leader)
        if begun is not None and begun.manifest_digest == asked.digest(placement):
            note("resuming the application of this command")
            return _perform(begun, options, cluster, connection, form, detail, approved=True)
        names = partitions_to_probe(asked.selection, seen)
        seen = with_logs(connection.control_plane, seen, names)
        found = recovery_elections(asked, seen, placement, allowed, formerly)
        plan = found.plan
        if options.output is not None:
            _show(found, form)
            save(plan_file.dumps(plan), options.output)
            if plan.changes:
                unclean = " --unclean" if plan.unclean else ""
                note(f"saved; apply it with: {apply_command(options.output, cluster)}{unclean}")
            return verdict(plan, exit_zero=False)
        _show(found, "text" if form == "text" else "")
        if not plan.changes:
            if form == "json":
                result(plan_file.dumps(plan))
            return plan.left_out
        return _perform(plan, options, cluster, connection, form, detail, approved=False)


def _request(
    method: "Method",
    scope: ElectionScope,
    options: RecoveryOptions,
    leader: int | None,
) -> "RecoveryRequest":
    from replan.model.names import BrokerId
    from replan.planning.elections.recover import RecoveryRequest
    from replan.planning.recovery.recovery import Method

    selection = scope.selection()
    leaders: dict[TopicPartition, BrokerId] = {}
    if method is Method.DESIGNATED:
        desired = {} if scope.election_file is None else _desired(scope.election_file)
        if leader is not None:
            desired |= dict.fromkeys(selection.partitions, BrokerId(leader))
        missing = [str(name) for name in selection.partitions if name not in desired]
        if not selection.partitions or missing:
            raise BadUsage(
                "say which replica is to lead each partition: --partition orders-7 --leader 3, or a desiredLeader for "
                "each in the --election-file"
            )
        leaders = desired
    return RecoveryRequest(
        selection,
        method,
        tuple(sorted(leaders.items())),
        frozenset(BrokerId(b) for b in options.give_up_on or ()),
    )


def _desired(path: Path) -> "dict[TopicPartition, BrokerId]":
    from replan.manifest.election_file import read_election_file

    return {n: broker for n, broker in read_election_file(path).items() if broker is not None}


def _formerly(path: Path | None) -> "dict[TopicPartition, LogsFound]":
    if path is None:
        return {}
    from replan.snapshots.files import read_snapshot

    known = dict(read_snapshot(path).logs)
    if not known:
        raise BadUsage(
            f"--before {path}: this snapshot has no logs; `replan snapshot --logs` makes one"
        )
    return known


def _begun(cluster: LiveTarget, connection: "Connection") -> "Plan | None":
    """The plan of the open application."""
    from replan.applying.opening import open_plan
    from replan.commands.journals import known_of

    cluster_id = connection.control_plane.cluster_id()
    return open_plan(known_of(cluster, connection, cluster_id).ledger)


def _show(found: "RecoveryElections", form: str) -> None:
    from replan.planning.plan_file import dumps
    from replan.reporting.recovery_text import render_recoveries

    if form == "json":
        result(dumps(found.plan))
    elif form == "text":
        result(render_recoveries(found.plan, found.candidates))


def _perform(
    plan: "Plan",
    options: RecoveryOptions,
    cluster: LiveTarget,
    connection: "Connection",
    form: str,
    detail: Detail,
    *,
    approved: bool,
) -> Exit:
    from replan.commands.application import approve_unclean, performed
    from replan.reporting.outcome_text import render_outcome
    from replan.reporting.recovery_text import render_recoveries_json

    agreed = approve_unclean(
        plan, unclean=options.unclean, auto_approve=options.auto_approve or approved
    )
    if not agreed:
        note("not approved; nothing was changed")
        return Exit.ERROR
    save_tails(plan, options.save_tails, connection)
    settings = Pace().settings(watched=is_live(sys.stderr))
    outcome = performed(plan, cluster, connection, settings, detail)
    if form == "json":
        report_outcome(render_recoveries_json(plan, outcome))
    else:
        report_outcome(render_outcome(outcome))
    return outcome.exit_code
