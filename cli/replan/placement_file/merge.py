"""Many files' declarations into one, and what they say against each other."""

from collections.abc import Iterator, Mapping, Sequence

from replan.model.declared.placement import ALL_REPLICAS, Side, StandingRate, ThrottledReplicas
from replan.model.declared.policy import Requirement
from replan.model.declared.recovery import RecoveryRule
from replan.model.declared.rules import LeaderRule, TopicRule
from replan.model.declared.topic_patterns import is_pattern, winners
from replan.model.names import FIXED_COUNT
from replan.placement_file.sections.assignments import ExplicitTopic
from replan.placement_file.sections.sections import Declaration, PreferredLeaders
from replan.placement_file.yaml_text.sources import KeyPath, Problems, show

Merged = Mapping[KeyPath, Declaration]
RATE: KeyPath = ("throttles", "moves", "rate")
KEEP: KeyPath = ("throttles", "moves", "keep")
BROKER_RATES: KeyPath = ("throttles", "moves", "brokers")


def merge(declarations: Sequence[Declaration], problems: Problems) -> Merged:
    """All declarations by key; notes those that are given twice, naming both places."""
    merged: dict[KeyPath, Declaration] = {}
    for found in declarations:
        first = merged.setdefault(found.key, found)
        if first is found:
            continue
        what = "this key is given" if found.item is None else f"{found.item[0]} is listed"
        text = f"{what} twice, first at {first.where}; keep one"
        problems.add(found.where, found.path, text)
    return merged


def explicit_topics(merged: Merged) -> list[ExplicitTopic]:
    """The explicit assignments, sorted by topic."""
    found = [d.declared for d in merged.values() if isinstance(d.declared, ExplicitTopic)]
    return sorted(found, key=lambda t: t.name)


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
    for path, found in sorted(merged.items(), key=lambda item: str(item[1].where)):
        if isinstance(found.declared, StandingRate):
            broker = str(path[-1])
            for side in Side:
                listed = frozenset[str]().union(*(getattr(entry, side) for entry in entries))
                named = ALL_REPLICAS in listed or any(e.endswith(f":{broker}") for e in listed)
                if getattr(found.declared, side) is not None and not named:
                    yield (
                        f"{found.where}: no entry of `throttles.standing.topics` throttles a replica of broker "
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
    rates = [d for path, d in merged.items() if path[:-1] == BROKER_RATES or path == KEEP]
    if rates and RATE not in merged:
        text = "`rate` is missing; write the rate of all other brokers, e.g. rate: 50MB/s, or unlimited"
        problems.add(rates[0].where, RATE[:-1], text)


def _check_exceptions(declaration: Declaration, problems: Problems) -> None:
    found, name = declaration.declared, str(declaration.path[-1])
    if not isinstance(found, TopicRule | LeaderRule | Requirement | RecoveryRule):
        return
    if found.excepted and not is_pattern(name):
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
                f"broker {preferred.broker} is not among the replicas {show(row)} declared at "
                f"{topic.source.where(topic.places[topic.numbers.index(number)])}; name one of them"
            )
            problems.add(preferred.where, path, text)
