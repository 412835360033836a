"""The small sections of one file, and its explicit lists: each declaration with its path of keys and its place.

Not here: the entries of `assignments` and `preferredLeaders` (`entries`). The sections were checked against the schema
before; one with a problem is left out, so that the rest of the file can still be compared with the other files.

The rows of `partitions` are checked here, since a hundred thousand of them would take JSON Schema seconds. The schema
describes the same shape for editors, and `tests/schema` holds both to the same answers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from msgspec import Struct

from replan.model.declared.placement import (
    ALL_REPLICAS,
    LastLeaders,
    LeaderBlacklist,
    LeaderMove,
    PreferredLeader,
    RackBlacklist,
    Side,
    StandingRate,
    ThrottledReplicas,
)
from replan.model.declared.policy import Acknowledgement, InStages, Limit, Measure, Requirement
from replan.model.declared.reconcile import DeviationKind, Window, Windows
from replan.model.declared.recovery import RecoveryRule, RecoveryStrategy
from replan.model.declared.rules import (
    Apart,
    Balance,
    BalanceMeasure,
    LeaderRule,
    LogDirBlacklist,
    ReplicaBlacklist,
    Tolerance,
    TopicRule,
)
from replan.model.declared.where import Where
from replan.model.names import LARGEST_ID, BrokerId, parse_number
from replan.placement_file.sources import KeyPath, Problems, Source, quoted_value
from replan.placement_file.units import (
    parse_day,
    parse_days,
    parse_minute,
    parse_percentage,
    parse_rate,
    parse_seconds,
    parse_size,
    parse_threshold,
)
from replan.placement_file.yaml_text import YamlList, YamlMapping, YamlValue, place_of

OWN_KEYS = frozenset({"partitions", "belowMinIsr"})

_BOUND = f"a whole number from 0 to {LARGEST_ID}"
_ROW = "write the brokers in order of preference, e.g. [1, 2, 3]"


class ExplicitTopic(Struct, frozen=True):
    """The rows of one topic as they are written, in the order of the file."""

    source: Source
    where: Where
    path: KeyPath
    numbers: Sequence[int]
    rows: Sequence[YamlValue]
    places: Sequence[int]
    partition_count: int | None
    below_min_isr: bool = False

    @property
    def name(self) -> str:
        """The topic's name."""
        return str(self.path[-1])

    def path_of(self, row: int) -> KeyPath:
        """The path of keys to one row."""
        number = self.numbers[row]
        key = number if self.partition_count is not None else str(number)
        return (*self.path, "partitions", key)


def read_explicit(
    source: Source, topic: str, entry: YamlMapping, where: Where, problems: Problems
) -> ExplicitTopic | None:
    """Read one entry of `assignments` that has only `partitions` and `belowMinIsr`; rows are not yet checked."""
    path: KeyPath = ("assignments", topic)
    below = entry.get("belowMinIsr", False)
    if not isinstance(below, bool):
        at = entry.value_at[list(entry).index("belowMinIsr")]
        problems.add(
            source.where(at),
            (*path, "belowMinIsr"),
            f"{quoted_value(below)} is not right here; it must be true or false, unquoted",
        )
        below = False
    if "partitions" not in entry:
        problems.add(
            where, path, f"`partitions` is missing; {_how_to_list(topic)}, or remove the topic"
        )
        return None
    partitions = entry["partitions"]
    at = entry.value_at[list(entry).index("partitions")]
    if not isinstance(partitions, YamlList | YamlMapping) or not partitions:
        told = (
            "is empty"
            if isinstance(partitions, YamlList | YamlMapping)
            else f"is {quoted_value(partitions)}"
        )
        problems.add(
            source.where(at), (*path, "partitions"), f"`partitions` {told}; {_how_to_list(topic)}"
        )
        return None
    if isinstance(partitions, YamlList):
        numbers: list[int] = list(range(len(partitions)))
        return ExplicitTopic(
            source, where, path, numbers, partitions, partitions.at, len(partitions), below
        )
    return _read_map(
        source, partitions, ExplicitTopic(source, where, path, (), (), (), None, below), problems
    )


def check_rows(topics: Sequence[ExplicitTopic], problems: Problems) -> None:
    """Note every row that is not a list of different broker ids."""
    for topic in topics:
        for row, value in enumerate(topic.rows):
            if not _is_right(value):
                _note_row(topic, row, value, problems)


def _how_to_list(topic: str) -> str:
    return f"list the replicas of {topic}, e.g. partitions: {{0: [1, 2, 3]}}"


def _read_map(
    source: Source, partitions: YamlMapping, empty: ExplicitTopic, problems: Problems
) -> ExplicitTopic:
    numbers: list[int] = []
    rows: list[YamlValue] = []
    places: list[int] = []
    for (key, row), key_at, at in zip(
        partitions.items(), partitions.key_at, partitions.value_at, strict=True
    ):
        number = parse_number(key)
        if number is None:
            problems.add(
                source.where(key_at),
                (*empty.path, "partitions", key),
                f"{quoted_value(key)} is not a partition number; write {_BOUND}",
            )
            continue
        numbers.append(number)
        rows.append(row)
        places.append(at)
    return ExplicitTopic(
        source, empty.where, empty.path, numbers, rows, places, None, empty.below_min_isr
    )


def _is_right(row: YamlValue) -> bool:
    """Whether there is nothing to explain; `plain_rows` has looked at those that are no YamlList."""
    if type(row) is list:
        return True
    if type(row) is not YamlList or {*map(type, row)} != {int}:
        return False
    brokers = cast("list[int]", row)
    return len({*brokers}) == len(brokers) and min(brokers) >= 0 and max(brokers) <= LARGEST_ID


def _note_row(topic: ExplicitTopic, row: int, value: YamlValue, problems: Problems) -> None:
    path = topic.path_of(row)
    for item, text in _explain(value):
        if item is None or not isinstance(value, YamlList):
            problems.add(topic.source.where(topic.places[row]), path, text)
        else:
            problems.add(topic.source.where(value.at[item]), (*path, item), text)


def _explain(row: YamlValue) -> Iterator[tuple[int | None, str]]:
    """What is wrong with one row: the number of the item, or None for the whole, and a sentence."""
    if row is None:
        yield (
            None,
            f"nothing is written here; {_ROW}; to leave partitions out, use the form {{0: [1, 2, 3]}}",
        )
        return
    if not isinstance(row, YamlList):
        yield None, f"{quoted_value(row)} is not a list of brokers; {_ROW}"
        return
    if not row:
        yield None, f"an empty list leaves the partition without a replica; {_ROW}"
    brokers_before: set[int] = set()
    for i, broker in enumerate(row):
        if isinstance(broker, bool) or not isinstance(broker, int):
            yield i, f"{quoted_value(broker)} is not a broker id; write {_BOUND}, unquoted"
        elif not 0 <= broker <= LARGEST_ID:
            yield i, f"{broker} is not a broker id; write {_BOUND}"
        elif broker in brokers_before:
            yield (
                i,
                f"broker {broker} is listed twice in {quoted_value(row)}; name each broker once",
            )
        else:
            brokers_before.add(broker)


class PreferredLeaders(Struct, frozen=True):
    """The preferred leaders of one topic, by partition."""

    by_partition: dict[int, PreferredLeader]


class Rate(Struct, frozen=True):
    """Bytes per second; None means unlimited."""

    bytes_per_second: int | None


class Keep(Struct, frozen=True):
    """Whether the throttles of moves stay at the end."""

    keep: bool


class BrokerRate(Struct, frozen=True):
    """The rates of one broker by side, bytes per second; a side that is not written has the rate of all brokers."""

    by_side: dict[str, int | None]


class NoLeaderListed(Struct, frozen=True):
    """An empty leader blacklist, which lifts an earlier one."""


class PutRight(Struct, frozen=True):
    """After how many seconds one kind of deviation is put right; None: never."""

    kind: DeviationKind
    seconds: int | None
    above: Fraction | None = None
    """Of `logDirFull`."""


class HoldFrom(Struct, frozen=True):
    """How much of one thing holds a loop."""

    most: int | Fraction


Declared = (
    str
    | (ExplicitTopic | TopicRule | Apart | Balance)
    | (PreferredLeaders | LeaderRule | LastLeaders)
    | (LeaderBlacklist | NoLeaderListed | ReplicaBlacklist | RackBlacklist | LogDirBlacklist)
    | (Rate | Keep | BrokerRate | ThrottledReplicas | StandingRate)
    | (Requirement | Limit | InStages | Acknowledgement | RecoveryRule)
    | (PutRight | Windows | HoldFrom)
)


class Declaration(Struct, frozen=True):
    """One thing that may be said once; two with the same `path` and `item` are a conflict."""

    path: KeyPath
    where: Where
    declared: Declared
    item: tuple[str, KeyPath] | None = None
    """Of a list, what tells an element from the others: in words, and as a key."""

    @property
    def key(self) -> KeyPath:
        """What makes it one of its kind."""
        return self.path if self.item is None else (*self.path, *self.item[1])


def read_small_sections(
    source: Source, root: YamlMapping, unsound: frozenset[str | int]
) -> Iterator[Declaration]:
    """Read them, less the unsound ones."""
    for section, read in _READERS.items():
        if section in root and section not in unsound:
            yield from read(_File(source, root))


class _File(Struct, frozen=True):
    """One file whose sections have the shape that the schema wants."""

    source: Source
    root: YamlMapping

    def where(self, path: KeyPath) -> Where:
        return self.source.where(place_of(self.root, path))

    def mapping(self, *path: str) -> dict[str, Any]:
        """The mapping at a path; empty where the path ends before."""
        node: Any = self.root
        for key in path:
            node = node.get(key, {})
        return cast("dict[str, Any]", node)

    def named(self, *path: str) -> Iterator[tuple[KeyPath, Where, Any]]:
        """Each key of a mapping with its path, its place and its value."""
        for key, value in self.mapping(*path).items():
            here = (*path, key)
            yield here, self.where(here), value

    def listed(self, *path: str) -> Iterator[tuple[Where, dict[str, Any]]]:
        """Each mapping of a list, with its place."""
        items = cast("YamlList", self.mapping(*path[:-1]).get(path[-1], ()))
        for i, item in enumerate(items):
            yield self.where((*path, i)), cast("dict[str, Any]", item)


def _cluster(file: _File) -> Iterator[Declaration]:
    for path, where, value in file.named("cluster"):
        yield Declaration(path, where, value)


def _balance(file: _File) -> Iterator[Declaration]:
    written, path = file.root["balance"], ("balance",)
    tolerances: dict[BalanceMeasure, Fraction] = {}
    once: dict[str, Any] = {}
    places: dict[str, Where] = {}
    parts: dict[KeyPath, Any] = {path: written}
    if isinstance(written, YamlList):
        parts = {("balance", i): item for i, item in enumerate(written)}
    for part, section in parts.items():
        keys: dict[str, str] = {}
        for measure, key in _measures(section):
            written_as = section[key]
            is_number = measure is BalanceMeasure.MAX_REPLICAS
            tolerance = Fraction(int(written_as)) if is_number else parse_percentage(written_as)
            tolerances.setdefault(measure, tolerance)
            keys[measure.value] = key
        for key in ("weights", "required"):
            if key in section:
                once.setdefault(key, section[key])
                keys[key] = key
        for name, key in keys.items():
            where = file.where((*part, key))
            places.setdefault(name, where)
            if part != path:
                yield Declaration(path, where, name, (f"`{name}`", (name,)))
    yield Declaration(
        path,
        file.where(path),
        Balance(
            file.where(path),
            tolerances=tuple(Tolerance(measure, within) for measure, within in tolerances.items()),
            required=once.get("required", False),
            weights={
                BrokerId(int(broker)): Fraction(round(Fraction(str(share)) * 1000), 1000)
                for broker, share in sorted(once.get("weights", {}).items())
            },
            places=places,
        ),
    )


def _measures(section: Mapping[str, Any]) -> Iterator[tuple[BalanceMeasure, str]]:
    """What a mapping of `balance` has, that which counts most first, and its key."""
    by = section.get("by", "count")
    for measure in BalanceMeasure:
        key, _, counted = measure.value.partition(" by ")
        if key in section and (key != "leaders" or (counted or "count") == by):
            yield measure, key


def _apart(file: _File) -> Iterator[Declaration]:
    for i, topics in enumerate(cast("list[list[str]]", file.root["apart"])):
        group = Apart(file.where(("apart", i)), tuple(sorted(topics)))
        name = f"the group of {', '.join(group.topics)}"
        yield Declaration(("apart",), group.where, group, (name, group.topics))


def _last_leaders(file: _File) -> Iterator[Declaration]:
    path: KeyPath = ("lastLeaders",)
    listed = cast("list[int | dict[str, str]]", file.root["lastLeaders"])
    entries = [e["rack"] if isinstance(e, dict) else BrokerId(int(e)) for e in listed]
    places = {e: file.where((*path, i)) for i, e in enumerate(entries)}
    where = file.where(path)
    yield Declaration(path, where, LastLeaders(where, tuple(entries), places))


def _blacklists(file: _File) -> Iterator[Declaration]:
    if file.mapping("blacklists").get("leaders") == []:
        path: KeyPath = ("blacklists", "leaders")
        item = ("an empty list", (file.source.name,))
        yield Declaration(path, file.where(path), NoLeaderListed(), item)
    for where, entry in file.listed("blacklists", "leaders"):
        topics = entry.get("topics")
        yield _broker_or_rack(
            "leaders",
            entry,
            LeaderBlacklist,
            where=where,
            topics=tuple(sorted(set(topics))) if topics else None,
            move=LeaderMove(entry.get("move", LeaderMove.NOW)),
            until_caught_up="until" in entry,
        )
    for where, entry in file.listed("blacklists", "replicas"):
        yield _broker_or_rack("replicas", entry, ReplicaBlacklist, where=where)
    for where, entry in file.listed("blacklists", "logDirs"):
        broker = BrokerId(entry["broker"])
        log_dir = LogDirBlacklist(broker, entry["path"], where, **_about(entry))
        name = f"{log_dir.path} of broker {log_dir.broker}"
        yield _item("logDirs", (log_dir.broker, log_dir.path), name, log_dir)


def _broker_or_rack(
    blacklist: str,
    entry: dict[str, Any],
    kind: type[LeaderBlacklist | ReplicaBlacklist],
    **said: Any,
) -> Declaration:
    said |= _about(entry)
    if "rack" in entry:
        rack = RackBlacklist(entry["rack"], **said)
        return _item(blacklist, ("rack", rack.rack), f"rack {rack.rack}", rack)
    broker = BrokerId(entry["broker"])
    return _item(blacklist, (broker,), f"broker {broker}", kind(broker, **said))


def _about(entry: dict[str, Any]) -> dict[str, Any]:
    """What the entries of all blacklists have in common."""
    review = entry.get("reviewBy")
    return {
        "reason": entry.get("reason"),
        "owner": entry.get("owner"),
        "review_by": None if review is None else parse_day(review),
    }


def _item(
    blacklist: str,
    key: tuple[str | int, ...],
    name: str,
    entry: LeaderBlacklist | ReplicaBlacklist | RackBlacklist | LogDirBlacklist,
) -> Declaration:
    return Declaration(("blacklists", blacklist), entry.where, entry, (name, key))


def _throttles(file: _File) -> Iterator[Declaration]:
    moves = file.mapping("throttles", "moves")
    if "rate" in moves:
        path: KeyPath = ("throttles", "moves", "rate")
        yield Declaration(path, file.where(path), Rate(parse_rate(moves["rate"])))
    if "keep" in moves:
        kept: KeyPath = ("throttles", "moves", "keep")
        yield Declaration(kept, file.where(kept), Keep(bool(moves["keep"])))
    for path, where, rates in file.named("throttles", "moves", "brokers"):
        by_side = rates if isinstance(rates, dict) else dict.fromkeys(Side, rates)
        of_sides = {str(side): parse_rate(text) for side, text in by_side.items()}
        yield Declaration(path, where, BrokerRate(of_sides))
    for path, where, replicas in file.named("throttles", "standing", "topics"):
        yield Declaration(path, where, _throttled(where, replicas))
    for path, where, rates in file.named("throttles", "standing", "brokers"):
        by_side = {side: parse_rate(text) for side, text in rates.items()}
        yield Declaration(path, where, StandingRate(where, **by_side))


def _throttled(where: Where, replicas: str | dict[str, dict[str, list[int]]]) -> ThrottledReplicas:
    if isinstance(replicas, str):
        return ThrottledReplicas(where, frozenset({ALL_REPLICAS}), frozenset({ALL_REPLICAS}))
    by_side = {
        side: frozenset(
            f"{partition}:{int(b)}" for partition, brokers in of.items() for b in brokers
        )
        for side, of in replicas.items()
    }
    return ThrottledReplicas(where, **by_side)


def _require(file: _File) -> Iterator[Declaration]:
    for path, where, entry in file.named("require"):
        least = entry.get("replicationFactor"), entry.get("racks")
        requirement = Requirement(where, *least, tuple(sorted(set(entry.get("except", ())))))
        yield Declaration(path, where, requirement)


def _recovery(file: _File) -> Iterator[Declaration]:
    for path, where, entry in file.named("recovery"):
        wait = int(parse_seconds(entry["wait"])) if "wait" in entry else 0
        excepted = tuple(sorted(set(entry.get("except", ()))))
        rule = RecoveryRule(where, RecoveryStrategy(entry["strategy"]), wait, excepted)
        yield Declaration(path, where, rule)


def _limits(file: _File) -> Iterator[Declaration]:
    for path, where, value in file.named("limits"):
        if path[-1] == "stage":
            yield Declaration(path, where, InStages(where, bool(value)))
            continue
        most = parse_size(value) if isinstance(value, str) else int(value)
        yield Declaration(path, where, Limit(Measure(str(path[-1])), where, most))


def _acknowledged(file: _File) -> Iterator[Declaration]:
    for where, entry in file.listed("acknowledged"):
        numbers = entry.get("partitions")
        acknowledgement = Acknowledgement(
            topic=entry["topic"],
            partitions=None if numbers is None else tuple(sorted(numbers)),
            where=where,
            reason=entry["reason"],
            expires=parse_day(entry["expires"]),
            owner=entry.get("owner"),
        )
        for number in (
            ("all",) if acknowledgement.partitions is None else acknowledgement.partitions
        ):
            name = acknowledgement.topic if number == "all" else f"{acknowledgement.topic}-{number}"
            yield Declaration(
                ("acknowledged",),
                where,
                acknowledgement,
                (name, (acknowledgement.topic, str(number))),
            )


def _reconcile(file: _File) -> Iterator[Declaration]:
    for path, where, value in file.named("reconcile", "putRight"):
        kind = DeviationKind(str(path[-1]))
        if isinstance(value, str):
            rule = PutRight(kind, parse_threshold(value))
        else:
            above = parse_percentage(value["above"]) if "above" in value else None
            rule = PutRight(kind, parse_threshold(value["for"]), above)
        yield Declaration(path, where, rule)
    for path, where, value in file.named("reconcile", "hold"):
        most = parse_percentage(value) if isinstance(value, str) else int(value)
        yield Declaration(path, where, HoldFrom(most))
    written = file.mapping("reconcile").get("windows")
    if written is not None:
        path = ("reconcile", "windows")
        listed = written if isinstance(written, YamlList) else written.get("open", ())
        excepted = () if isinstance(written, YamlList) else written.get("except", ())
        windows = tuple(_window(cast("dict[str, Any]", one)) for one in listed)
        kinds = frozenset(map(DeviationKind, excepted))
        yield Declaration(path, file.where(path), Windows(windows, kinds))


def _window(entry: dict[str, Any]) -> Window:
    return Window(
        parse_days(entry["days"]) if "days" in entry else tuple(range(7)),
        parse_minute(entry["from"]),
        parse_minute(entry["to"]),
        entry.get("zone", "UTC"),
    )


_READERS: dict[str, Callable[[_File], Iterator[Declaration]]] = {
    "cluster": _cluster,
    "balance": _balance,
    "apart": _apart,
    "lastLeaders": _last_leaders,
    "blacklists": _blacklists,
    "throttles": _throttles,
    "recovery": _recovery,
    "require": _require,
    "limits": _limits,
    "reconcile": _reconcile,
    "acknowledged": _acknowledged,
}
