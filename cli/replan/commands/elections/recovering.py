"""How the three commands for partitions without a leader work: ask the logs, show what is lost, approve, perform."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct
from msgspec.structs import replace

from replan.commands.elections.election_scope import (
    ElectionScope,
    PlacementFiles,
    placement_to_keep,
)
from replan.commands.elections.tails import SaveTails, save_tails
from replan.commands.frame.output import is_live, keep_inputs, note, result
from replan.commands.shared.options import Allow, Detail, Pace, TextOrJson, placement_files
from replan.commands.shared.target import LiveTarget
from replan.commands.shared.unread import note_unread
from replan.errors import BadFile, BadUsage, Exit
from replan.wording import NAMES_SHOWN, capped

if TYPE_CHECKING:
    from collections.abc import Callable

    from replan.applying.views.outcome import Outcome
    from replan.commands.shared.target import Connection
    from replan.model.names import BrokerId, TopicPartition
    from replan.model.replica_logs import ProbedLogs
    from replan.model.snapshot import Snapshot
    from replan.planning.elections.recover import RecoveryElections, RecoveryRequest
    from replan.planning.plans.plan import Plan
    from replan.planning.recovery.recovery import RecoveryMethod


class RecoveryOptions(Struct, frozen=True):
    """What `elect best-log`, `unclean` and `designated` have in common, beside which partitions."""

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
            min=0,
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
    files: PlacementFiles = None
    allow: Allow = None
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Elect nothing; save the plan of these elections, for `replan apply --unclean`.",
        ),
    ] = None
    form: TextOrJson = "text"


def recover(
    method: "RecoveryMethod",
    scope: ElectionScope,
    options: RecoveryOptions,
    detail: Detail,
    cluster: LiveTarget,
    *,
    leader: int | None = None,
    moves_led: bool = False,
) -> Exit:
    """Do what one of the commands asks for.

    `leader`: who is to lead what `elect designated` names; `moves_led`: also where another one leads now.
    """
    from replan.applying.steps.recovering import with_logs
    from replan.commands.shared.application import check_free, plan_to_resume
    from replan.commands.shared.journals import journal_state
    from replan.commands.shared.plans import allowed_of, save_plan, verdict
    from replan.planning.elections.recover import partitions_to_probe, recovery_elections

    inputs = [
        *placement_files(options.files, cluster),
        scope.election_file,
        options.before,
        cluster.simulated,
    ]
    keep_inputs(options.output, inputs)
    placement, allowed = placement_to_keep(options.files, cluster), allowed_of(options.allow or ())
    earlier_logs = _earlier_logs(options.before)
    with cluster.connect() as connection:
        snapshot = connection.control_plane.observe()
        note_unread(snapshot)
        request = replace(_request(method, scope, options, leader, snapshot), moves_led=moves_led)
        ledger = journal_state(cluster, connection, snapshot.cluster_id).ledger
        begun = plan_to_resume(ledger, request.digest(placement))
        if begun is not None and options.output is None:
            render = _renderer(method, options.form, begun)
            return _perform(begun, render, options, cluster, connection, detail, approved=True)
        names = partitions_to_probe(request.selection, snapshot)
        snapshot = with_logs(connection.control_plane, snapshot, names, earlier_logs)
        elections = recovery_elections(request, snapshot, placement, allowed, earlier_logs)
        plan = elections.plan
        render = _renderer(method, options.form, plan, elections)
        asks = bool(plan.unclean) and options.unclean and not options.auto_approve
        performs = plan.changes and options.output is None and (options.unclean or not plan.unclean)
        if options.form == "text" or not performs:
            result(render(None))
        elif asks:  # who agrees must have seen it
            note(_renderer(method, "text", plan, elections)(None))
        if options.output is not None:
            save_plan(plan, options.output, cluster)
            return verdict(plan, exit_zero=False)
        if not plan.changes:
            return plan.left_out
        check_free(ledger, plan)
        return _perform(plan, render, options, cluster, connection, detail, approved=False)


def _request(
    method: "RecoveryMethod",
    scope: ElectionScope,
    options: RecoveryOptions,
    leader: int | None,
    snapshot: "Snapshot",
) -> "RecoveryRequest":
    from replan.model.names import BrokerId
    from replan.planning.elections.recover import RecoveryRequest
    from replan.planning.elections.selection import choose_partitions
    from replan.planning.recovery.recovery import RecoveryMethod

    selection = scope.selection()
    leaders: dict[TopicPartition, BrokerId] = {}
    if method is RecoveryMethod.DESIGNATED:
        names = selection.partitions
        desired = (
            {}
            if scope.election_file is None
            else _desired(scope.election_file, required=leader is None)
        )
        if leader is not None:
            if not names:
                rows = choose_partitions(selection, snapshot).rows
                names = tuple(state.partition for state in snapshot.states(rows))
            desired |= dict.fromkeys(names, BrokerId(leader))
        if not names or any(name not in desired for name in names):
            raise BadUsage(
                "say which replica is to lead: --leader 3 beside --partition orders-7 or --topic orders, or a "
                "desiredLeader for each partition in the --election-file"
            )
        leaders = desired
    return RecoveryRequest(
        selection,
        method,
        tuple(sorted(leaders.items())),
        frozenset(BrokerId(b) for b in options.give_up_on or ()),
    )


def _desired(path: Path, *, required: bool) -> "dict[TopicPartition, BrokerId]":
    """Who shall lead; raises BadFile where one is `required` for each partition, and is missing."""
    from replan.placement_file.kafka_json import read_election_file

    entries = read_election_file(path)
    without = [f"{of.where}: {name}" for name, of in entries.items() if of.leader is None]
    if required and without:
        raise BadFile(
            "\n".join(
                capped([f"{line} has no desiredLeader" for line in without], limit=NAMES_SHOWN)
            )
            + "\nName the replica that is to lead each: desiredLeader: 3, or --leader 3 for all of them"
        )
    return {name: of.leader for name, of in entries.items() if of.leader is not None}


def _earlier_logs(path: Path | None) -> "dict[TopicPartition, ProbedLogs]":
    if path is None:
        return {}
    from replan.snapshots.files import read_snapshot

    logs = dict(read_snapshot(path).logs)
    if not logs:
        raise BadUsage(
            f"--before {path}: this snapshot has no logs; `replan snapshot --logs` makes one"
        )
    return logs


def _renderer(
    method: "RecoveryMethod",
    form: Literal["text", "json"],
    plan: "Plan",
    elections: "RecoveryElections | None" = None,
) -> "Callable[[Outcome | None], str]":
    """How the plan is shown before, and what became of it afterwards; `elections`: of this command."""
    from replan.reporting.application.outcome_text import render_outcome, render_recoveries_json
    from replan.reporting.plans.recovery_text import render_recoveries

    not_needed = () if elections is None else elections.not_needed
    candidates = {} if elections is None else elections.candidates

    def render(outcome: "Outcome | None") -> str:
        match form:
            case "text":
                if outcome is None:
                    return render_recoveries(plan, candidates)
                return render_outcome(outcome)
            case "json":
                return render_recoveries_json(method, plan, outcome, not_needed, candidates)

    return render


def _perform(
    plan: "Plan",
    render: "Callable[[Outcome | None], str]",
    options: RecoveryOptions,
    cluster: LiveTarget,
    connection: "Connection",
    detail: Detail,
    *,
    approved: bool,
) -> Exit:
    from replan.commands.shared.application import approve_unclean, perform

    agreed = approve_unclean(
        plan, unclean=options.unclean, auto_approve=options.auto_approve or approved
    )
    if not agreed:
        note("not approved; nothing was changed")
        return Exit.ERROR
    save_tails(plan, options.save_tails, connection)
    settings = Pace().settings(watched=is_live(sys.stderr))
    return perform(plan, cluster, connection, settings, detail, render=render)
