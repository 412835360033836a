"""`elect best-log`, `elect unclean`, `elect designated`: partitions that nobody leads are led again, or by another."""

from typing import Annotated, Literal

import typer

from replan.commands.elections.election_scope import ElectionScope
from replan.commands.elections.recovering import RecoveryOptions, recover
from replan.commands.inputs.options import Detail
from replan.commands.inputs.target import LiveTarget
from replan.errors import Exit


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

    return recover(Method(strategy), scope, options, detail, cluster)


def elect_unclean(
    *,
    scope: ElectionScope,
    options: RecoveryOptions,
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

    return recover(Method.UNCLEAN, scope, options, detail, cluster)


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

    Where nobody leads: cleanly if it is in sync or eligible; otherwise unclean, which needs --unclean. Where another
    replica leads: it comes first in the list and is elected, if it is in sync; nothing is lost, no data moves. The next
    plan puts the order back that a placement declares, and `preferredLeaders` there changes that. KIP-966's designation
    (--election-type designation) calls an election not needed where somebody leads.

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
    from replan.planning.recovery.recovery import Method

    return recover(
        Method.DESIGNATED,
        scope,
        options,
        detail,
        cluster,
        leader=leader,
        moves_led=not only_leaderless,
    )
