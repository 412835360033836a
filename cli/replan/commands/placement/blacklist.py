"""`blacklist show|add|remove`: the brokers that lead nothing, in the placement file and on the cluster."""

from typing import Annotated, Literal

import typer

from replan.commands.frame.output import note, result
from replan.commands.shared.options import PlacementPaths, TextOrJson, Topics, placement_files
from replan.commands.shared.target import JournaledTarget
from replan.errors import BadUsage, Exit

BrokerArgument = Annotated[
    int | None, typer.Argument(metavar="BROKER", min=0, help="The id of a broker.")
]
RackOption = Annotated[
    str | None, typer.Option(metavar="RACK", help="Instead of a broker: all brokers of this rack.")
]
NEXT = "`replan plan` shows what follows from it"


def show(
    *,
    files: PlacementPaths = None,
    form: TextOrJson = "text",
    cluster: JournaledTarget,
) -> Exit:
    """Show the leader blacklist: each entry, what it does, and the orders that come back when it goes.

    Nothing is changed. Counted are the partitions that an entry reaches, those that its broker still leads, and those
    that its broker is out of sync for. Remembered orders are those of partitions that no list declares; the journal
    keeps them.

    Exit codes:
      0  shown
      1  an error

    Examples:
      replan blacklist show --bootstrap-server kafka-1:9092
      replan blacklist show -f placements/ --simulated cluster.json --format json
    """
    from replan.commands.shared.observed import observed
    from replan.placement_file.load import load_placement
    from replan.planning.blacklist_report import blacklist_report
    from replan.reporting.cluster.checkup_text import render_blacklist, render_blacklist_json

    declared = load_placement(placement_files(files, cluster))
    report = blacklist_report(declared, observed(cluster).snapshot)
    match form:
        case "text":
            result(render_blacklist(report))
        case "json":
            result(render_blacklist_json(report))
    return Exit.OK


def add(
    *,
    broker: BrokerArgument = None,
    rack: RackOption = None,
    files: PlacementPaths = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; plans show it.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="TEXT", help="Whom to ask about it.")] = None,
    review_by: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="When to look at it again, e.g. 2026-12-01: plans warn from then on.",
        ),
    ] = None,
    topics: Topics = None,
    move: Annotated[
        Literal["now", "later"],
        typer.Option(
            help="`now`: an election follows. `later`: only the order of the lists changes."
        ),
    ] = "now",
    until: Annotated[
        Literal["caught-up"] | None,
        typer.Option(help="End the entry once the broker is in sync everywhere."),
    ] = None,
) -> Exit:
    """Put a broker, or the brokers of a rack, on the leader blacklist of the placement file.

    Only the file is changed, and of the file only this entry: comments and layout stay. Where the files name several
    entries already, it goes beside them. `replan plan` and `replan apply` do the rest.

    Exit codes:
      0  written
      1  an error, or the broker or rack is listed already

    Examples:
      replan blacklist add 7 --reason "disk at 92 %" --owner storage --review-by 2026-12-01
      replan blacklist add --rack eu-1a --reason "maintenance of the site"
    """
    from replan.model.declared.placement import LeaderBlacklist, LeaderMove, RackBlacklist
    from replan.model.declared.where import Where
    from replan.model.names import BrokerId
    from replan.placement_file import text_edit
    from replan.placement_file.units import parse_day

    try:
        reviewed = None if review_by is None else parse_day(review_by)
    except ValueError as problem:
        raise BadUsage(f"--review-by: {problem}") from problem
    only = tuple(sorted(set(topics))) if topics else None
    said = Where("", 0, 0), reason, owner, reviewed, only, LeaderMove(move), until is not None
    who = _who(broker, rack)
    entry = (
        RackBlacklist(who, *said) if isinstance(who, str) else LeaderBlacklist(BrokerId(who), *said)
    )
    note(f"wrote {text_edit.add_to_blacklist(placement_files(files), entry)}; {NEXT}")
    return Exit.OK


def remove(
    *, broker: BrokerArgument = None, rack: RackOption = None, files: PlacementPaths = None
) -> Exit:
    """Take a broker, or a rack, off the leader blacklist of the placement file.

    Only the file is changed, and of the file only this entry. The next plan restores the orders that were there before,
    of partitions that no list declares from the journal.

    Exit codes:
      0  written
      1  an error, or the broker or rack is not listed

    Examples:
      replan blacklist remove 7
      replan blacklist remove --rack eu-1a
    """
    from replan.model.names import BrokerId
    from replan.placement_file import text_edit

    who = _who(broker, rack)
    listed = who if isinstance(who, str) else BrokerId(who)
    note(f"wrote {text_edit.remove_from_blacklist(placement_files(files), listed)}; {NEXT}")
    return Exit.OK


def _who(broker: int | None, rack: str | None) -> int | str:
    """The broker or the rack: one of the two."""
    if rack is not None and broker is None:
        return rack
    if broker is None or rack is not None:
        raise BadUsage("write a broker's id, e.g. 7, or --rack RACK: one of the two")
    return broker
