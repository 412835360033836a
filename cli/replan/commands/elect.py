"""`elect preferred`, and the options by which every `elect` command chooses partitions."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.options import AS, DEFAULT_FILES, Allow, Detail, Pace
from replan.commands.output import is_live, keep_inputs, note, report_outcome, result, save
from replan.commands.target import LiveTarget
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.applying.outcome import Outcome
    from replan.commands.target import Connection
    from replan.model.placement import Placement
    from replan.planning.elections.preferred import PreferredElections
    from replan.planning.elections.selection import Selection


@dataclass(frozen=True)
class ElectionScope:
    """Which partitions an election is asked for. Raises BadUsage where that is not said in exactly one way."""

    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME",
            help="All partitions of this topic or glob; repeatable. With --partition N one of them.",
        ),
    ] = None
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            metavar="PARTITION",
            help="One partition: orders-7, or 7 beside --topic orders; repeatable.",
        ),
    ] = None
    election_file: Annotated[
        Path | None,
        typer.Option(
            "--election-file",
            "--path-to-json-file",
            metavar="FILE",
            help="The partitions of this file: the JSON of kafka-leader-election.sh, or the same in YAML.",
        ),
    ] = None
    everything: Annotated[
        bool,
        typer.Option("--all", "--all-topic-partitions", help="Every partition of the cluster."),
    ] = False

    def __post_init__(self) -> None:
        by_name = bool(self.topics or self.partitions)
        ways = [self.everything, self.election_file is not None, by_name]
        if sum(ways) != 1:
            raise BadUsage(
                "say in one way which partitions: --topic and --partition, --election-file, or --all"
            )
        numbers = [text for text in self.partitions or () if text.isdecimal()]
        if numbers and len(self.topics or ()) != 1:
            raise BadUsage(
                f"--partition {numbers[0]} goes with one --topic; or write --partition orders-{numbers[0]}"
            )
        if self.topics and len(numbers) != len(self.partitions or ()):
            raise BadUsage("beside --topic, --partition is a number; leave out one of the two")

    def selection(self) -> "Selection":
        """What is asked for; raises BadUsage and BadFile."""
        from replan.model.names import TopicPartition, parse_topic_partition
        from replan.model.topic_patterns import is_pattern
        from replan.planning.elections.selection import Selection

        if self.everything:
            return Selection(everything=True)
        if self.election_file is not None:
            from replan.manifest.election_file import read_election_file

            return Selection(partitions=tuple(read_election_file(self.election_file)))
        if not self.partitions:
            return Selection(topics=tuple(self.topics or ()))
        if self.topics:
            if is_pattern(self.topics[0]):
                raise BadUsage(f"--topic {self.topics[0]}: beside --partition, name one topic")
            names = [TopicPartition(self.topics[0], int(number)) for number in self.partitions]
        else:
            try:
                names = [parse_topic_partition(text) for text in self.partitions]
            except ValueError as problem:
                raise BadUsage(f"--partition: {problem}; write e.g. orders-7") from problem
        return Selection(partitions=tuple(dict.fromkeys(names)))


PlacementFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-f",
        "--file",
        metavar="PATH",
        help="Placement file or folder whose limits, leader blacklist and cluster id hold; repeatable. By default "
        "placement.yaml, where there is one.",
    ),
]


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
    from replan.commands.plans import allowed_of, apply_command, verdict
    from replan.planning import plan_file
    from replan.planning.elections.preferred import preferred_elections
    from replan.reporting.election_text import (
        election_results,
        render_elections,
        render_elections_json,
    )

    keep_inputs(output, [*(files or ()), scope.election_file, cluster.simulated])
    placement, selection = placement_of(files, cluster), scope.selection()
    allowed = allowed_of(allow or ())
    with cluster.connect() as connection:
        seen = connection.control_plane.observe()
        found = preferred_elections(selection, seen, placement, allowed)
        if output is not None:
            save(plan_file.dumps(found.plan), output)
            if found.plan.changes:
                note(f"saved; apply it with: {apply_command(output, cluster)}")
            outcome, code = None, verdict(found.plan, exit_zero=False)
        else:
            outcome, code = _elect(found, cluster, connection, detail)
    results = election_results(found, outcome)
    if form == "text":
        text = render_elections(results, outcome)
    else:
        text = render_elections_json(seen.cluster_id, results, outcome)
    (result if outcome is None else report_outcome)(text)
    return code


def placement_of(files: list[Path] | None, cluster: LiveTarget) -> "Placement | None":
    """The placement that an election keeps to, if there is one."""
    from replan.manifest.load import load_placement

    if files is None and cluster.placement is not None:
        return load_placement([cluster.placement])
    if files is None and not DEFAULT_FILES[0].is_file():
        return None
    return load_placement(files or DEFAULT_FILES)


def _elect(
    found: "PreferredElections", cluster: LiveTarget, connection: "Connection", detail: Detail
) -> "tuple[Outcome | None, Exit]":
    """Perform them, or go on with those of the same command that are open; None where there is nothing to do."""
    from replan.applying.opening import check_same, open_plan
    from replan.commands.application import performed
    from replan.commands.journals import known_of
    from replan.planning.plan_file import digest

    plan, ledger = found.plan, known_of(cluster, connection, found.plan.cluster_id).ledger
    begun = ledger.application
    if begun is not None and begun.manifest_digest == plan.manifest_digest:
        note(f"resuming application {begun.id}, begun by {begun.owner}")
        plan = open_plan(ledger) or plan
    elif begun is not None:
        check_same(begun, digest(plan))
    if not plan.changes:
        return None, plan.left_out
    settings = Pace().settings(watched=is_live(sys.stderr))
    outcome = performed(plan, cluster, connection, settings, detail)
    return outcome, outcome.exit_code
