"""Which partitions an `elect` command is asked for, and the placement that it keeps to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from replan.commands.shared.options import DEFAULT_FILES, placement_files
from replan.commands.shared.target import LiveTarget
from replan.errors import BadUsage

if TYPE_CHECKING:
    from replan.model.declared.placement import Placement
    from replan.planning.elections.selection import Selection


class ElectionScope(Struct, frozen=True):
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
            raise BadUsage(
                "beside --topic, --partition is a number from 0 on; leave out one of the two"
            )

    def selection(self) -> "Selection":
        """What is asked for; raises BadUsage and BadFile."""
        from replan.model.declared.topic_patterns import is_pattern
        from replan.model.names import TopicPartition, parse_topic_partition
        from replan.planning.elections.selection import Selection

        if self.everything:
            return Selection(everything=True)
        if self.election_file is not None:
            from replan.placement_file.kafka_json import read_election_file

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


def placement_to_keep(files: list[Path] | None, cluster: LiveTarget) -> "Placement | None":
    """The placement that an election keeps to, if there is one."""
    from replan.placement_file.load import load_placement

    named = placement_files(files, cluster)
    if files is None and named == DEFAULT_FILES and not DEFAULT_FILES[0].is_file():
        return None
    return load_placement(named)
