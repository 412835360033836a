"""Commands that write what is there: `validate`, `schema`, `export`, `snapshot`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.frame.output import keep_inputs, note, write
from replan.commands.placement.annotations import Annotations, annotated
from replan.commands.shared.options import (
    Force,
    OutputFile,
    PlacementPaths,
    Topics,
    placement_files,
)
from replan.commands.shared.target import JournaledTarget, ReadTarget
from replan.errors import BadUsage, Exit
from replan.wording import count

if TYPE_CHECKING:
    from replan.commands.shared.target import Observed
    from replan.fleet.lake.delta import Hour
    from replan.model.snapshot import Snapshot


def validate(*, files: PlacementPaths = None, annotations: Annotations = None) -> Exit:
    """Check placement files.

    No cluster is asked. All errors are listed, each with file, line and column; so is a number of partitions that
    `plan` refuses unless the cluster has as many (__consumer_offsets and the like).

    Exit codes:
      0  the files are valid
      1  they are not, or cannot be read

    Examples:
      replan validate
      replan validate -f placements/
    """
    from replan.placement_file.read import (
        explicit_topics,
        fixed_counts,
        idle_rates,
        read_files,
        rule_count,
    )

    named = placement_files(files)
    with annotated(annotations, named):
        merged = read_files(named)
    topics = explicit_topics(merged)
    for sentence in (*fixed_counts(merged), *idle_rates(merged)):
        note(f"warning: {sentence}")
    declared = count(sum(len(topic.rows) for topic in topics), "partition")
    listed = f"lists of {declared} of {count(len(topics), 'topic')}" if topics else ""
    rules = rule_count(merged)
    ruled = f"{count(rules, 'entry')} by rule" if rules else ""
    note(f"valid: {', '.join(filter(None, [listed, ruled])) or 'nothing is declared'}")
    return Exit.OK


def schema(
    *,
    name: Annotated[
        Literal["placement", "plan", "snapshot", "journal", "lake", "rates", "fleet"],
        typer.Argument(
            metavar="NAME", help="placement, plan, snapshot, journal, lake, rates or fleet."
        ),
    ],
    output: OutputFile = None,
) -> Exit:
    """Print the JSON Schema of a file that replan reads or writes.

    Editors check a placement file as you type: save the schema beside it, and begin the file with
    `# yaml-language-server: $schema=placement.v1.json`, as `replan export` does.

    Exit codes:
      0  printed
      1  an error

    Examples:
      replan schema placement -o placement.v1.json
      replan schema plan
    """
    from replan.placement_file.schemas import directory

    schema_file = next(file for file in directory().iterdir() if file.name.startswith(f"{name}.v"))
    write(schema_file.read_text(encoding="utf-8"), output)
    return Exit.OK


def export(
    *,
    topics: Topics = None,
    output: OutputFile = None,
    comments: Annotated[
        bool,
        typer.Option(
            "--comments",
            help="Say what the file is, which brokers there are, and what else may be added.",
        ),
    ] = False,
    force: Force = False,
    form: Annotated[
        Literal["yaml", "kafka-json", "kafka-election-json"],
        typer.Option(
            "--format",
            help="`kafka-json`: what kafka-reassign-partitions.sh takes; `kafka-election-json`: what "
            "kafka-leader-election.sh takes.",
        ),
    ] = "yaml",
    cluster: ReadTarget,
) -> Exit:
    """Write the placement file that describes the cluster as it is.

    A plan that is made from this file changes nothing. `replan schema placement` prints the schema that it names. The
    JSON of Kafka's own tools holds the same lists; `replan import` reads it back.

    Exit codes:
      0  written
      1  an error

    Examples:
      replan export --bootstrap-server kafka-1:9092 -o placement.yaml
      replan export --snapshot cluster.json --topic 'orders*'
    """
    from replan.placement_file.export import export_placement, exported_topics

    keep_inputs(output, [cluster.simulated, cluster.snapshot])
    snapshot = cluster.observe()
    match form:
        case "yaml":
            text = export_placement(snapshot, topics or [], commented=comments)
        case "kafka-json":
            from replan.placement_file.kafka_json import reassignment_json

            text = reassignment_json(snapshot, exported_topics(snapshot, topics or []))
        case "kafka-election-json":
            from replan.placement_file.kafka_json import election_json

            text = election_json(snapshot, exported_topics(snapshot, topics or []))
    write(text, output, force=force)
    return Exit.OK


def import_file(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A reassignment or an election file, in JSON.")
    ],
    output: OutputFile = None,
    force: Force = False,
) -> Exit:
    """Read the JSON of Kafka's own tools, and write it as YAML.

    A file of kafka-reassign-partitions.sh becomes a placement file that names its partitions and no others, so that
    `replan plan -f` plans exactly that; one of kafka-leader-election.sh becomes a file for `replan elect`. No cluster
    is asked. A partition that a reassignment lists twice is an error; an election file may list one twice.

    Exit codes:
      0  written
      1  an error

    Examples:
      replan import reassign.json -o placement.yaml
      replan import elections.json
    """
    from replan.placement_file.kafka_json import import_kafka_json

    keep_inputs(output, [file])
    imported = import_kafka_json(file)
    if imported.directories:
        replicas = count(imported.directories, "replica")
        note(f"note: log directories of {replicas} are left out: an assignment does not name any")
    write(imported.yaml, output, force=force)
    return Exit.OK


def _with_logs(snapshot: "Snapshot", cluster: JournaledTarget) -> "Snapshot":
    """With what the live replicas of every partition say of their logs."""
    from replan.applying.steps.recovering import with_logs

    names = (s.partition for s in snapshot.states(range(snapshot.partitions.num_rows)))
    with cluster.connect() as connection:
        return with_logs(connection.control_plane, snapshot, names)


def take_snapshot(
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="FILE.json, or a folder for Parquet files."
        ),
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Keep it in a lake of Delta tables, too (`replan docs fleet`); needs the extra `fleet`, and no Java.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="The cluster's name in the lake; else that of --cluster, else its id.",
        ),
    ] = None,
    logs: Annotated[
        bool,
        typer.Option(
            "--logs",
            help="Ask every replica where its log ends, too; `replan elect best-log --before` compares with it.",
        ),
    ] = False,
    cluster: JournaledTarget,
) -> Exit:
    """Save the state of the cluster, to plan from it offline.

    Every command that only reads a cluster accepts the file with --snapshot; `replan fleet` reads folders of them, or a
    lake. The orders that the journal remembers for the leader blacklist are in it.

    Exit codes:
      0  written
      1  an error

    Examples:
      replan snapshot --bootstrap-server kafka-1:9092 -o cluster.json
      replan snapshot --bootstrap-server kafka-1:9092 --lake s3a://ops/replan --as payments-eu
    """
    if output is None and lake is None:
        raise BadUsage("say where to: -o PATH, --lake URI, or both")
    if lake is None and name is not None:
        raise BadUsage("--as goes with --lake")
    if name is not None:
        from replan.fleet.fleet_file import check_cluster_name

        check_cluster_name(name)
    from replan.snapshots.files import write_snapshot

    keep_inputs(output, [cluster.simulated, cluster.snapshot])
    observation: Observed | None = None
    if cluster.snapshot is not None:
        snapshot = cluster.observe()
    else:
        from replan.commands.shared.observed import observed

        observation = observed(cluster, log_ends=lake is not None)
        snapshot = observation.snapshot
        if logs:
            snapshot = _with_logs(snapshot, cluster)
    written = f"{count(snapshot.partitions.num_rows, 'partition')}, {count(len(snapshot.brokers), 'broker')}"
    if output is not None:
        write_snapshot(snapshot, output)
        note(f"wrote {output}: {written}")
    if lake is not None:
        hour = _kept_in_lake(lake, name or cluster.fleet_cluster, snapshot, observation)
        note(f"wrote {lake}, {hour.cluster} {hour.day} {hour.hour:02}h: {written}")
    if snapshot.silent:
        silent = ", ".join(map(str, snapshot.silent))
        note(f"no answer about log directories from broker {silent}: sizes there are unknown")
    return Exit.OK


def _kept_in_lake(
    lake: str, name: str | None, snapshot: "Snapshot", observation: "Observed | None"
) -> "Hour":
    """Keep it, and what its journal says where that was read; without a name by the id of the cluster."""
    from replan.commands.fleet.observe import collected_of
    from replan.fleet.collect import CollectedCluster, keep_collected
    from replan.fleet.lake.delta import Lake

    one = CollectedCluster(snapshot) if observation is None else collected_of(observation)
    kept_as = name or snapshot.cluster_id
    return keep_collected(Lake(lake), {kept_as: one})[kept_as]
