"""Read a placement file: files and folders of YAML into checked declarations.

Every file is read, the declarations of all of them are merged, and all that is wrong is gathered: in one file, between
two, and against `require`. Patterns under `assignments` are checked here as they are written. What depends on the
cluster (which topics a pattern places, which racks a list lies in) planning checks. `load` makes a placement of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from replan.errors import BadPlacement
from replan.model.declared.placement import ALL_REPLICAS, Side, StandingRate, ThrottledReplicas
from replan.model.declared.policy import Requirement, factor_too_small, spread_too_narrow
from replan.model.declared.recovery import RecoveryRule
from replan.model.declared.rules import Apart, LeaderRule, TopicRule
from replan.model.declared.topic_patterns import is_pattern, patterns_of, ties, winners
from replan.model.declared.where import Where
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import FIXED_COUNT
from replan.placement_file.entries import read_assignments, read_preferred_leaders, read_rules
from replan.placement_file.schema import accepts
from replan.placement_file.schemas import PLACEMENT, Schema, read_schema
from replan.placement_file.sections import (
    Declaration,
    ExplicitTopic,
    PreferredLeaders,
    check_rows,
    read_small_sections,
)
from replan.placement_file.sources import (
    KeyPath,
    Problems,
    Source,
    find_files,
    quoted_value,
    read_source,
)
from replan.placement_file.yaml_text import (
    EventParser,
    YamlMapping,
    fastest_parser,
    read_yaml_document,
)

Merged = Mapping[KeyPath, Declaration]
RATE: KeyPath = ("throttles", "moves", "rate")
KEEP: KeyPath = ("throttles", "moves", "keep")
BROKER_RATES_PATH: KeyPath = ("throttles", "moves", "brokers")


def merge(declarations: Sequence[Declaration], problems: Problems) -> Merged:
    """All declarations by key; notes those that are given twice, naming both places."""
    merged: dict[KeyPath, Declaration] = {}
    for declaration in declarations:
        first = merged.setdefault(declaration.key, declaration)
        if first is declaration:
            continue
        what = (
            "this key is given" if declaration.item is None else f"{declaration.item[0]} is listed"
        )
        text = f"{what} twice, first at {first.where}; keep one"
        problems.add(declaration.where, declaration.path, text)
    return merged


def explicit_topics(merged: Merged) -> list[ExplicitTopic]:
    """The explicit assignments, sorted by topic."""
    topics = [d.declared for d in merged.values() if isinstance(d.declared, ExplicitTopic)]
    return sorted(topics, key=lambda t: t.name)


def rule_count(merged: Merged) -> int:
    """How many entries of `assignments` place their topics by rule."""
    return sum(isinstance(d.declared, TopicRule) for d in merged.values())


def fixed_counts(merged: Merged) -> Iterator[str]:
    """A sentence for each topic whose number of partitions is declared by rule, and must stay what it is."""
    entries = {
        d.declared.pattern if isinstance(d.declared, TopicRule) else d.declared.name: d.declared
        for d in merged.values()
        if isinstance(d.declared, TopicRule | ExplicitTopic)
    }
    meant = {
        name: entry.excepted if isinstance(entry, TopicRule) else ()
        for name, entry in entries.items()
    }
    for topic, name in sorted(winners(meant, FIXED_COUNT).items()):
        entry = entries[name]
        if isinstance(entry, TopicRule) and entry.partition_count is not None:
            yield (
                f"{entry.place('partitionCount')}: {name}: the number of partitions of {topic} must stay as it is, "
                f"since records there are found by it; `plan` refuses {entry.partition_count} unless it has as many"
            )


def idle_rates(merged: Merged) -> Iterator[str]:
    """A sentence for each standing rate of a broker of which no entry throttles a replica on that side."""
    entries = [d.declared for d in merged.values() if isinstance(d.declared, ThrottledReplicas)]
    for path, declaration in sorted(merged.items(), key=lambda item: item[1].where):
        if isinstance(declaration.declared, StandingRate):
            broker = str(path[-1])
            for side in Side:
                listed = frozenset[str]().union(*(getattr(entry, side) for entry in entries))
                named = ALL_REPLICAS in listed or any(e.endswith(f":{broker}") for e in listed)
                if getattr(declaration.declared, side) is not None and not named:
                    yield (
                        f"{declaration.where}: no entry of `throttles.standing.topics` throttles a replica of broker "
                        f"{broker} on the {side} side; its rate there slows nothing down, unless such lists are set "
                        "already"
                    )


def note_contradictions(merged: Merged, problems: Problems) -> None:
    """Note what two declarations cannot both mean."""
    for declaration in merged.values():
        if isinstance(declaration.declared, PreferredLeaders):
            beside = merged.get(("assignments", declaration.path[-1]))
            if beside is not None and isinstance(beside.declared, ExplicitTopic):
                _check_leaders(declaration.declared, beside.declared, problems)
        _check_exceptions(declaration, problems)
    rates = [d for path, d in merged.items() if path[:-1] == BROKER_RATES_PATH or path == KEEP]
    if rates and RATE not in merged:
        text = "`rate` is missing; write the rate of all other brokers, e.g. rate: 50MB/s, or unlimited"
        problems.add(rates[0].where, RATE[:-1], text)


def _check_exceptions(declaration: Declaration, problems: Problems) -> None:
    declared, name = declaration.declared, str(declaration.path[-1])
    if not isinstance(declared, TopicRule | LeaderRule | Requirement | RecoveryRule):
        return
    if declared.excepted and not is_pattern(name):
        text = f"`except` stands beside a pattern, and {name} is a topic's name; take it out"
        problems.add(declaration.where, (*declaration.path, "except"), text)


def _check_leaders(leaders: PreferredLeaders, topic: ExplicitTopic, problems: Problems) -> None:
    rows = dict(zip(topic.numbers, topic.rows, strict=True))
    for number, preferred in leaders.by_partition.items():
        path: KeyPath = ("preferredLeaders", topic.name, str(number))
        if topic.partition_count is not None and number >= topic.partition_count:
            text = (
                f"{topic.name} is declared with {topic.partition_count} partitions, "
                f"0 to {topic.partition_count - 1}, at {topic.where}; remove this one"
            )
            problems.add(preferred.where, path, text)
        row = rows.get(number)
        if isinstance(row, list) and preferred.broker not in row:
            text = (
                f"broker {preferred.broker} is not among the replicas {quoted_value(row)} declared at "
                f"{topic.source.where(topic.places[topic.numbers.index(number)])}; name one of them"
            )
            problems.add(preferred.where, path, text)


def note_unmet_requirements(merged: Merged, problems: Problems) -> None:
    """Note every entry that declares less than `require` asks for, and every topic for which two entries tie."""
    required = {
        str(path[-1]): d.declared
        for path, d in merged.items()
        if isinstance(d.declared, Requirement)
    }
    declared = {
        str(path[-1]): d.declared
        for path, d in merged.items()
        if isinstance(d.declared, ExplicitTopic | TopicRule)
    }
    for topic, patterns in ties(patterns_of(required), declared).items():
        first, second = required[patterns[0]], required[patterns[1]]
        text = f"{topic} matches this as well as {patterns[0]} at {first.where}; name the topic, or a longer prefix"
        problems.add(second.where, ("require", patterns[1]), text)
    for topic, name in winners(patterns_of(required), declared).items():
        for where, path, text in _unmet(declared[topic], required[name]):
            problems.add(where, path, text)


def note_lists_together(merged: Merged, problems: Problems) -> None:
    """Note lists of topics that are declared apart, and that share a broker: the first of each two topics."""
    listed = {
        d.declared.name: d.declared
        for d in merged.values()
        if isinstance(d.declared, ExplicitTopic)
    }
    for group in (d.declared for d in merged.values() if isinstance(d.declared, Apart)):
        sides, first = group.sides(sorted(listed)), dict[int, tuple[str, int]]()
        for topic, side in sides.items():
            noted: set[str] = set()
            for row, replicas in enumerate(listed[topic].rows):
                brokers = replicas if isinstance(replicas, list) else ()
                for broker in (b for b in brokers if isinstance(b, int)):
                    other, at = first.setdefault(broker, (topic, row))
                    if sides[other] != side and other not in noted:
                        noted.add(other)
                        there = listed[other].source.where(listed[other].places[at])
                        text = (
                            f"broker {broker} holds {other}, too ({there}), and {group.where} wants them apart; list "
                            "other brokers in one of them"
                        )
                        where = listed[topic].source.where(listed[topic].places[row])
                        problems.add(where, listed[topic].path_of(row), text)


def _unmet(
    declared: ExplicitTopic | TopicRule, required: Requirement
) -> Iterator[tuple[Where, KeyPath, str]]:
    if isinstance(declared, ExplicitTopic):
        for row, replicas in enumerate(declared.rows):
            text = factor_too_small(len(replicas) if isinstance(replicas, list) else None, required)
            if text:
                yield declared.source.where(declared.places[row]), declared.path_of(row), text
        return
    path: KeyPath = ("assignments", declared.pattern)
    per_rack = bool(declared.replicas_per_rack)
    counted, spread = ("replicasPerRack",) * 2 if per_rack else ("replicationFactor", "spread")
    text = factor_too_small(declared.replication_factor, required)
    if text:
        yield declared.place(counted), (*path, counted), text
    text = spread_too_narrow(declared, required)
    if text:
        yield declared.place(spread), (*path, spread), text


def read_files(paths: Sequence[Path]) -> Merged:
    """Read and merge these files and folders; raises BadPlacement with everything that is wrong."""
    return read_sources(texts_of(paths), fastest_parser())


def read_cluster(path: Path) -> tuple[str | None, str | None]:
    """The id and the name of the cluster of a file or folder, of which nothing else is checked.

    Raises BadPlacement where it is no YAML.
    """
    problems = Problems()
    said: dict[str, object] = {}
    with garbage_collection_paused():
        for source in texts_of([path]):
            root = read_yaml_document(source, problems, fastest_parser())
            cluster = None if root is None else root.get("cluster")
            said |= cluster if isinstance(cluster, YamlMapping) else {}
    problems.raise_if_any()
    texts = {key: value for key, value in said.items() if isinstance(value, str)}
    return texts.get("id"), texts.get("name")


def texts_of(paths: Sequence[Path]) -> list[Source]:
    """The files that are meant; raises BadPlacement with all that cannot be read."""
    sources: list[Source] = []
    unreadable: list[str] = []
    for path in find_files(paths):
        try:
            sources.append(read_source(path))
        except BadPlacement as problem:
            unreadable.append(str(problem))
    if unreadable:
        raise BadPlacement("\n".join(unreadable))
    return sources


def read_sources(sources: Sequence[Source], parser_of: Callable[[str], EventParser]) -> Merged:
    """Read texts that are already read; raises BadPlacement with everything that is wrong."""
    problems = Problems()
    schema = read_schema(PLACEMENT)
    with garbage_collection_paused():
        declarations: list[Declaration] = []
        for source in sources:
            root = read_yaml_document(source, problems, parser_of)
            if root is not None:
                declarations += _read_file(source, root, schema, problems)
        merged = merge(declarations, problems)
        check_rows(explicit_topics(merged), problems)
        note_contradictions(merged, problems)
        note_unmet_requirements(merged, problems)
        note_lists_together(merged, problems)
        problems.raise_if_any()
        return merged


def _read_file(
    source: Source, root: YamlMapping, schema: Schema, problems: Problems
) -> list[Declaration]:
    declarations: list[Declaration] = []
    for_schema: dict[str, object] = dict(root)
    for section, read in (
        ("assignments", read_assignments),
        ("preferredLeaders", read_preferred_leaders),
    ):
        entries = root.get(section)
        if isinstance(entries, YamlMapping):
            of_section, for_schema[section] = read(source, entries, problems)
            declarations += of_section
    if not accepts(schema, for_schema, schema):
        # It imports jsonschema, which takes as long as to read a small placement file.
        from replan.placement_file.schema_messages import note_schema_problems  # noqa: PLC0415

        note_schema_problems(for_schema, root, source, schema, problems)
    unsound = problems.sections(source.name)
    declarations += read_rules(source, root, unsound)
    declarations += read_small_sections(source, root, unsound)
    return declarations
