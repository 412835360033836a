"""The tables of a fleet's lake, computed again from the files that went in: an oracle without a line of replan.

It goes by docs/fleet.md and docs/placement-file.md alone, in plain Python on the parsed documents: no replan, no numpy,
no Arrow. What a rule or a drain chooses has more than one right answer: there the lists are taken from the lake and
checked to keep their rule (`Chosen`), and all else is computed from them. A plan is checked against the command.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import yaml

Name = tuple[str, int]
"""A topic and a partition."""
Row = dict[str, Any]
Document = Mapping[str, Any]
FLAPPING, FLAPPING_TIME = 3, timedelta(days=7)
RATE = re.compile(r"(\d+)(kB|MB|GB)/s")
UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}
THROTTLED = "{}.replication.throttled.{}"
BLACKLISTS = {
    "leaders": "leader-blacklist",
    "replicas": "replica-blacklist",
    "logDirs": "log-dir-blacklist",
}


@dataclass(frozen=True)
class Seen:
    """One snapshot, as the document has it."""

    document: Document

    @property
    def moment(self) -> str:
        return str(self.document["observedAt"])

    @cached_property
    def partitions(self) -> dict[Name, Document]:
        return {
            (topic["name"], number): partition
            for topic in self.document["topics"]
            for number, partition in enumerate(topic["partitions"])
        }

    @cached_property
    def topics(self) -> dict[str, Document]:
        return {topic["name"]: topic for topic in self.document["topics"]}

    @cached_property
    def brokers(self) -> dict[int, Document]:
        return {broker["id"]: broker for broker in self.document["brokers"]}

    @cached_property
    def live(self) -> set[int]:
        return {b for b, of in self.brokers.items() if not of.get("fenced")}

    def target(self, name: Name) -> list[int]:
        """The list of a partition once what runs on it has ended."""
        state = self.partitions[name]
        return [b for b in state["replicas"] if b not in state.get("removing", ())]

    def runs(self, name: Name) -> bool:
        state = self.partitions[name]
        return bool(state.get("adding") or state.get("removing"))

    def must_be_repaired(self, name: Name) -> bool:
        """Under its effective min ISR."""
        state = self.partitions[name]
        least = int(self.topics[name[0]].get("minInsyncReplicas", 1))
        return len(state["isr"]) < min(least, len(state["replicas"]))


def is_internal(topic: str) -> bool:
    return topic.startswith("__")


def literal(pattern: str) -> str:
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]


def means(pattern: str, topic: str) -> bool:
    """Whether a name or pattern means a topic; internal ones only where it begins like them."""
    if is_internal(topic) and not is_internal(literal(pattern)):
        return False
    return fnmatch.fnmatchcase(topic, pattern)


def best(patterns: Iterator[str] | Sequence[str], topic: str) -> str | None:
    """The most particular: the name itself, or the longest literal beginning."""
    found = [p for p in patterns if p == topic or means(p, topic)]
    return max(found, key=lambda p: (p == topic, len(literal(p))), default=None)


def instant(text: Any) -> str:
    """A date or an instant as text that compares with the moments of snapshots; a date is when that day begins."""
    if "T" not in str(text):
        return str(text)
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rate_of(text: str) -> int:
    found = RATE.fullmatch(text)
    assert found is not None, text
    return int(found[1]) * UNITS[found[2]]


class Declared:
    """One placement file."""

    def __init__(self, text: str, path: str) -> None:
        self.document: Document = yaml.safe_load(text)
        self.path = path
        self._root = yaml.compose(text)
        self.assignments: Document = self.document.get("assignments", {})
        self.blacklists: Document = self.document.get("blacklists", {})

    @cached_property
    def lists(self) -> dict[Name, list[int]]:
        """Those that are written out."""
        found: dict[Name, list[int]] = {}
        for topic, entry in self.assignments.items():
            listed = entry.get("partitions", {})
            numbered = enumerate(listed) if isinstance(listed, list) else listed.items()
            found |= {(topic, number): brokers for number, brokers in numbered}
        return found

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many partitions topics in the list form have."""
        entries = {t: entry.get("partitions") for t, entry in self.assignments.items()}
        return {t: len(listed) for t, listed in entries.items() if isinstance(listed, list)}

    @cached_property
    def preferred(self) -> dict[Name, int]:
        return {
            (topic, number): broker
            for topic, entry in self.document.get("preferredLeaders", {}).items()
            for number, broker in entry.items()
        }

    @cached_property
    def drained(self) -> set[int]:
        return {entry["broker"] for entry in self.blacklists.get("replicas", ())}

    def rule(self, topic: str) -> Document | None:
        won = best([*self.assignments], topic)
        entry = None if won is None else self.assignments[won]
        return entry if entry is not None and "partitions" not in entry else None

    def listed(self, seen: Seen) -> list[Document]:
        """The entries of the leader blacklist that are in force."""
        found = []
        for entry in self.blacklists.get("leaders", ()):
            broker = entry["broker"]
            late = any(
                broker in state["replicas"] and broker not in state["isr"] and reaches(entry, n[0])
                for n, state in seen.partitions.items()
            )
            if broker in seen.brokers and (entry.get("until") is None or late):
                found.append(entry)
        return found

    def reviews(self) -> Iterator[tuple[str, int, str, str]]:
        """The entries with a date, each with its kind, broker, date and place."""
        for section, kind in BLACKLISTS.items():
            nodes = _node(self._root, "blacklists", section)
            for entry, node in zip(self.blacklists.get(section, ()), nodes, strict=True):
                if "reviewBy" in entry:
                    mark = node.start_mark
                    where = f"{self.path}:{mark.line + 1}:{mark.column + 1}"
                    yield kind, entry["broker"], instant(entry["reviewBy"]), where


def _node(root: Any, *keys: str) -> list[Any]:
    for key in keys:
        found = [value for name, value in root.value if name.value == key]
        if not found:
            return []
        root = found[0]
    return list(root.value)


def reaches(entry: Document, topic: str) -> bool:
    """Whether an entry of the leader blacklist concerns a topic: without topics, all, internal ones too."""
    return "topics" not in entry or any(means(p, topic) for p in entry["topics"])


@dataclass(frozen=True)
class Question:
    """What a list has to keep."""

    size: int
    allowed: frozenset[int]
    racks: Mapping[int, str | None]
    spread: str | None
    in_rack: str | None

    @classmethod
    def of(cls, declared: Declared, seen: Seen, name: Name) -> "Question":
        base = declared.lists.get(name) or seen.target(name)
        rule = {} if name in declared.lists else (declared.rule(name[0]) or {})
        allowed = {*rule.get("brokers", seen.brokers)} & set(seen.brokers) - declared.drained
        size = rule.get("replicationFactor", len(base))
        racks = {b: of.get("rack") for b, of in seen.brokers.items()}
        return cls(size, frozenset(allowed), racks, rule.get("spread"), rule.get("inRack"))

    def kept_by(self, brokers: Sequence[int]) -> bool:
        """Whether a list keeps it all."""
        of = [self.racks[b] for b in brokers]
        even = {of.count(rack) for rack in {self.racks[b] for b in self.allowed}}
        return (
            len(set(brokers)) == len(brokers) == self.size
            and self.allowed.issuperset(brokers)
            and (self.spread != "rack" or max(even) - min(even) <= 1)
            and (self.in_rack is None or set(of) == {self.in_rack})
        )

    def has_answer(self, seen: Seen) -> bool:
        """Whether some list of brokers that are up keeps it."""
        up = sorted(self.allowed & seen.live)
        return any(map(self.kept_by, combinations(up, self.size)))


@dataclass(frozen=True)
class Chosen:
    """Lists that a rule or a drain has chosen, as the lake has them."""

    lists: Mapping[Name, list[int]]

    def check(self, declared: Declared, seen: Seen, name: Name) -> None:
        """That the list of a partition, or what it has where nothing is chosen, keeps its rule and the drains."""
        base = declared.lists.get(name) or seen.target(name)
        found = self.lists.get(name, base)
        question = Question.of(declared, seen, name)
        if name not in self.lists and not question.kept_by(base):
            assert not question.has_answer(seen), (name, base, question)
            return
        assert question.kept_by(found), (name, found, question)
        if name in declared.lists or declared.rule(name[0]) is None:
            # A drain alone: what may stay stays, in its order unless something else says who comes first.
            held = [b for b in base if b not in declared.drained]
            assert set(held) <= set(found), (name, base, found)
            order = [b for b in found if b in held]
            assert order == held or self.reordered(declared, seen, name), (name, base, found)

    @staticmethod
    def reordered(declared: Declared, seen: Seen, name: Name) -> bool:
        """Whether something else than the drain says who comes first."""
        return name in declared.preferred or any(
            reaches(entry, name[0]) for entry in declared.listed(seen)
        )


@dataclass(frozen=True)
class Wanted:
    """The list that a partition should have."""

    brokers: list[int]
    led: bool = True
    """Whether the first of it is to lead now."""


class Comparison:
    """A placement beside a snapshot."""

    def __init__(
        self, declared: Declared, seen: Seen, chosen: Chosen, owners: Mapping[str, str], prices: Any
    ) -> None:
        self.declared, self.seen, self.chosen = declared, seen, chosen
        self.owners, self.prices = owners, prices

    # --- what is wanted

    def is_chosen(self, name: Name) -> bool:
        """Whether a rule or a drain says where the replicas of a partition lie."""
        if name not in self.seen.partitions:
            return False
        base = self.declared.lists.get(name) or self.seen.target(name)
        ruled = name not in self.declared.lists and self.declared.rule(name[0]) is not None
        return ruled or bool(self.declared.drained & set(base))

    @cached_property
    def wanted(self) -> dict[Name, Wanted]:
        found: dict[Name, Wanted] = {}
        for name in sorted({*self.declared.lists, *self.seen.partitions}):
            if self.is_chosen(name):
                self.chosen.check(self.declared, self.seen, name)
                given = self.chosen.lists.get(name)
                wanted = None if given is None else Wanted(given, self._order(name, given)[1])
            else:
                wanted = self._by_hand(name)
            if wanted is not None:
                found[name] = wanted
        return found

    def _by_hand(self, name: Name) -> Wanted | None:
        """Of a partition without a rule: what is written, or what the blacklist makes of what there is."""
        explicit, there = self.declared.lists.get(name), name in self.seen.partitions
        if explicit is not None:
            brokers, led, _ = self._order(name, explicit)
            return Wanted(brokers, led)
        has = self.seen.target(name)
        preferred = there and name in self.declared.preferred
        listed = {e["broker"] for e in self._entries(name)} & set(has)
        if not preferred and (not listed or self.seen.runs(name)):
            return None
        brokers, led, pressed = self._order(name, has)
        return Wanted(brokers, led) if preferred or pressed or brokers != has else None

    def _entries(self, name: Name) -> list[Document]:
        return [e for e in self.declared.listed(self.seen) if reaches(e, name[0])]

    def _order(self, name: Name, base: Sequence[int]) -> tuple[list[int], bool, bool]:
        """The order of a list; whether its first is to lead now; whether a listed leader has to go at once."""
        first = self.declared.preferred.get(name)
        order = sorted(base, key=lambda b: b != first) if first in base else list(base)
        entries = self._entries(name)
        listed = {e["broker"] for e in entries} & set(order)
        now = {e["broker"] for e in entries if e.get("move", "now") == "now"}
        state = self.seen.partitions.get(name)
        leader = None if state is None else state["leader"]
        pressed = leader in order and leader in now
        order.sort(key=lambda b: b in listed)
        led = leader not in listed or pressed
        if state is None or leader is None or not listed or order[0] in listed:
            return order, led, pressed
        return self._stand_in(state, order, listed, pressed=pressed), led, pressed

    @staticmethod
    def _stand_in(
        state: Document, order: list[int], listed: set[int], *, pressed: bool
    ) -> list[int]:
        """Another one first for now, where the first of the order is out of sync and a listed one leads."""
        first, replicas = order[0], state["replicas"]
        moving = bool(state.get("adding") or state.get("removing"))
        if first == state["leader"] or first in state["isr"] or first not in replicas or moving:
            return order
        if not set(replicas) <= set(order):
            return order
        able = [b for b in order if b in state["isr"] and b not in listed]
        for broker in able[:1] if pressed else [b for b in able if b == state["leader"]]:
            other = [broker, *(b for b in order if b != broker)]
            if pressed or other == replicas:
                return other
        return order

    # --- what differs

    @cached_property
    def found(self) -> tuple[list[Row], list[Name], list[tuple[Name, str]]]:
        """What differs, what is on its way, and what is acknowledged, with its date."""
        differing: list[Row] = []
        converging: list[Name] = []
        acknowledged: list[tuple[Name, str]] = []
        for name, wanted in self.wanted.items():
            row = self._compared(name, wanted)
            if row is None:
                continue
            until = self._acknowledged(name)
            if until is not None:
                acknowledged.append((name, until))
            elif row["kind"] == "running":
                converging.append(name)
            else:
                differing.append(row)
        for name in self._unplaceable():
            until = self._acknowledged(name)
            if until is not None:
                acknowledged.append((name, until))
                continue
            state = self.seen.partitions[name]
            row = {"topic": name[0], "partition": name[1], "kind": "unplaceable", "declared": []}
            differing.append(row | {"observed": state["replicas"], "leader": state["leader"]})
        differing += self._absent_leaders()
        return differing + self._leaderless({_name(r) for r in differing}), converging, acknowledged

    def _absent_leaders(self) -> list[Row]:
        """Preferred leaders that are no replica; a drain wins."""
        rows = []
        for name, broker in self.declared.preferred.items():
            state = self.seen.partitions[name]
            base = self.declared.lists.get(name) or self.seen.target(name)
            has = self.chosen.lists.get(name, base) if self.is_chosen(name) else base
            known = broker in has or broker in self.declared.drained
            if not known and name not in self._unplaceable():
                row = {"topic": name[0], "partition": name[1], "kind": "preferred-absent"}
                same = {"declared": [broker], "observed": has, "leader": state["leader"]}
                rows.append(row | same)
        return rows

    def _unplaceable(self) -> list[Name]:
        """What keeps its rule neither by a list that was chosen nor by the one that it has."""
        return [
            name
            for name in self.seen.partitions
            if self.is_chosen(name)
            and name not in self.chosen.lists
            and not Question.of(self.declared, self.seen, name).kept_by(self.seen.target(name))
        ]

    def _compared(self, name: Name, wanted: Wanted) -> Row | None:
        row = {"topic": name[0], "partition": name[1], "declared": wanted.brokers}
        state = self.seen.partitions.get(name)
        if state is None:
            return row | {"kind": "missing", "observed": [], "leader": None}
        target, leader = self.seen.target(name), state["leader"]
        if set(target) != set(wanted.brokers):
            kind = "replicas"
        elif target != wanted.brokers:
            kind = "order"
        elif self.seen.runs(name):
            kind = "running"
        elif leader not in {None, target[0]} and wanted.led and target[0] in state["isr"]:
            kind = "leader"
        else:
            return None
        return row | {"kind": kind, "observed": target, "leader": leader}

    def _acknowledged(self, name: Name) -> str | None:
        """Until when the placement asks to leave a partition alone."""
        entries = [
            entry
            for entry in self.declared.document.get("acknowledged", ())
            if instant(entry["expires"]) >= self.seen.moment
            and (entry["topic"] == name[0] or means(entry["topic"], name[0]))
            and name[1] in entry.get("partitions", [name[1]])
        ]
        state = self.seen.partitions.get(name)
        if state is not None and (
            self.seen.must_be_repaired(name) or self.declared.drained & set(state["replicas"])
        ):
            return None
        won = max(
            entries,
            key=lambda e: (e["topic"] == name[0], len(literal(e["topic"])), "partitions" in e),
            default=None,
        )
        return None if won is None else instant(won["expires"])

    def _leaderless(self, differing: set[Name]) -> list[Row]:
        rows = []
        for name, state in self.seen.partitions.items():
            managed = (
                name in self.declared.lists
                or name in self.declared.preferred
                or self.declared.rule(name[0]) is not None
            )
            if state["leader"] is None and (managed or name in differing):
                same = {"declared": state["replicas"], "observed": state["replicas"]}
                rows.append(
                    {"topic": name[0], "partition": name[1], "kind": "no-leader", "leader": None}
                    | same
                )
        return rows

    def differences(self) -> list[Row]:
        """Rows of `differences`."""
        differing, converging, _ = self.found
        nothing = {"declared": None, "observed": None, "leader": None}
        return differing + [
            {"topic": t, "partition": p, "kind": "running"} | nothing for t, p in converging
        ]

    # --- by class

    def drift(self) -> list[Row]:
        """Rows of `drift`."""
        differing, _, acknowledged = self.found
        rows = [row | self._class_of(row) for row in differing]
        rows += [*self._counted(), *self._lying(), *self._standing(), *self._throttled()]
        rows += self._reviews()
        rows += [
            {"topic": t, "partition": p, "class": "acknowledged", "kind": "acknowledged"}
            | {"acknowledged_until": until, "silent": True}
            for (t, p), until in acknowledged
        ]
        return [self._whole(row) for row in rows]

    def _whole(self, row: Row) -> Row:
        """A row with all columns."""
        topic, silent = row.get("topic"), row.pop("silent", False)
        name = (topic, row.get("partition"))
        state = self.seen.partitions.get(name) if topic is not None else None  # type: ignore[arg-type]
        owner = None if topic is None else best([*self.owners], topic)
        empty: list[int] | None = None if silent else []
        nothing = {"topic": None, "partition": None, "broker": None, "leader": None, "rule": None}
        return (
            nothing
            | {"declared": empty, "observed": empty, "detail": None, "acknowledged_until": None}
            | {"bytes": None if state is None or silent else state["bytes"]}
            | {"owner": self.owners.get(owner or "*")}
            | row
        )

    def _class_of(self, row: Row) -> Row:
        name, rule = self._rule_of(row)
        return {"class": name, "rule": rule}

    def _rule_of(self, row: Row) -> tuple[str, str]:
        """The class of a difference, and what it goes by: the first that fits."""
        state = self.seen.partitions.get(_name(row))
        if state is None:
            there = row["topic"] in self.seen.topics
            few = ("partition-count", "too-few-partitions")
            return few if there else ("operator", "topic-absent")
        if row["kind"] == "no-leader":
            return "failure", "no-leader"
        if self.seen.runs(_name(row)):
            return "other-tool", "runs-elsewhere"
        if row["kind"] == "leader":
            return "failure", "leadership-moved"
        declared, observed = set(row["declared"]), set(row["observed"])
        concerned = (declared ^ observed) or observed
        down = concerned - self.seen.live or concerned & (observed - set(state["isr"]))
        return ("failure", "broker-down") if down else ("operator", "lists-differ")

    def _counted(self) -> Iterator[Row]:
        """Topics with more partitions than a list declares, by the first that is too many."""
        for topic, count in self.declared.counts.items():
            has = len(self.seen.topics.get(topic, {"partitions": ()})["partitions"])
            if count < has:
                yield {
                    "topic": topic,
                    "partition": count,
                    "class": "partition-count",
                    "kind": "partitions",
                    "rule": "too-many-partitions",
                    "detail": f"declared {count}, has {has}",
                }

    def _lying(self) -> Iterator[Row]:
        """Replicas in log directories that are to be empty."""
        for entry in self.declared.blacklists.get("logDirs", ()):
            broker = self.seen.brokers.get(entry["broker"], {})
            for found in broker.get("logDirs", ()):
                if found["path"] != entry["path"] or found.get("error"):
                    continue
                for topic, numbers in found.get("replicas", {}).items():
                    for number in numbers:
                        yield {
                            "topic": topic,
                            "partition": number,
                            "broker": entry["broker"],
                            "class": "operator",
                            "kind": "log-dir",
                            "rule": "log-dir-drained",
                            "detail": entry["path"],
                        }

    @cached_property
    def _standing_declared(self) -> Document:
        return self.declared.document.get("throttles", {}).get("standing", {})  # type: ignore[no-any-return]

    def _standing(self) -> Iterator[Row]:
        same = {"class": "operator", "kind": "standing", "rule": "throttle-differs"}
        for topic, of in self.seen.topics.items():
            won = best([*self._standing_declared.get("topics", {})], topic)
            if won is None:
                continue
            declared = self._standing_declared["topics"][won]
            for side in ("leader", "follower"):
                wanted = "*" if declared == "all" else None
                has = of.get("throttledReplicas", {}).get(side)
                if has != wanted:
                    key = THROTTLED.format(side, "replicas")
                    detail = f"{key}={has or ''}, declared {wanted or 'none'}"
                    yield same | {"topic": topic, "detail": detail}
        unread = {*self.seen.document.get("silent", ())} | (set(self.seen.brokers) - self.seen.live)
        for broker, of in self._standing_declared.get("brokers", {}).items():
            if broker in unread or broker not in self.seen.brokers:
                continue
            for side in ("leader", "follower"):
                key = THROTTLED.format(side, "rate")
                wanted = str(rate_of(of[side])) if side in of else None
                has = self.seen.brokers[broker].get("configs", {}).get(key, {}).get("value")
                if has != wanted:
                    detail = f"{key}={has or ''}, declared {wanted or 'none'}"
                    yield same | {"broker": broker, "detail": detail}

    def _throttled(self) -> Iterator[Row]:
        """Throttles that nothing needs."""
        same = {"class": "stale-throttle", "kind": "throttle", "rule": "nothing-runs"}
        moving = {name[0] for name in self.seen.partitions if self.seen.runs(name)}
        for topic, of in self.seen.topics.items():
            declared = any(means(p, topic) for p in self._standing_declared.get("topics", {}))
            for side in ("leader", "follower"):
                value = of.get("throttledReplicas", {}).get(side)
                if value and topic not in moving and not declared:
                    detail = f"{THROTTLED.format(side, 'replicas')}={value}"
                    yield same | {"topic": topic, "detail": detail}
        for broker, of in self.seen.brokers.items():
            if moving or broker in self._standing_declared.get("brokers", {}):
                continue
            for key, value in of.get("configs", {}).items():
                yield same | {"broker": broker, "detail": f"{key}={value['value']}"}

    def _reviews(self) -> Iterator[Row]:
        for kind, broker, date, where in self.declared.reviews():
            if date < self.seen.moment:
                yield {
                    "broker": broker,
                    "class": "review-due",
                    "kind": kind,
                    "rule": "date-passed",
                    "detail": where,
                }

    def mistakes(self) -> int:
        """How many lines contradict the cluster: topics, partitions and preferred leaders that are not there."""
        topics = {t for t, _ in self.declared.lists if t not in self.seen.topics}
        vain = [
            name
            for name in self.declared.lists
            if name[0] in self.seen.topics
            and name[0] not in self.declared.counts
            and name not in self.seen.partitions
        ]
        return len(topics) + len(vain) + len(self._absent_leaders())

    # --- what it takes

    def costs(self) -> list[Row]:
        """Rows of `costs`."""
        movable = ("replicas", "order", "leader")
        return [self._cost(row) for row in self.found[0] if row["kind"] in movable]

    def _cost(self, row: Row) -> Row:
        new = [b for b in row["declared"] if b not in row["observed"]]
        source = row["observed"][0] if row["leader"] is None else row["leader"]
        size = self.seen.partitions[_name(row)]["bytes"]
        racks = {b: of.get("rack") for b, of in self.seen.brokers.items()}
        crossing = size * sum(
            racks.get(b) is not None and racks.get(source) is not None and racks[b] != racks[source]
            for b in new
        )
        price = (self.prices or {}).get("crossRackPerGB")
        amount = None if price is None else float(crossing * Decimal(str(price)) / 10**9)
        return {
            "topic": row["topic"],
            "partition": row["partition"],
            "bytes": size * len(new),
            "cross_rack_bytes": crossing,
            "seconds": self._seconds(size, source, new),
            "amount": amount,
            "currency": None if price is None else self.prices["currency"],
        }

    def _seconds(self, size: int, source: int, new: Sequence[int]) -> float | None:
        moves = self.declared.document.get("throttles", {}).get("moves")
        if moves is None:
            return None

        def rate(broker: int, side: str) -> int:
            own = moves.get("brokers", {}).get(broker, moves["rate"])
            return rate_of(own if isinstance(own, str) else own.get(side, moves["rate"]))

        receiving = [size / rate(b, "follower") for b in new]
        return max([*receiving, len(new) * size / rate(source, "leader")])


def _name(row: Row) -> Name:
    return row["topic"], row["partition"]


# --- over time


def window(before: Sequence[Seen], newest: Seen, days: int) -> list[Seen]:
    """The snapshots that count, the newest included: those of its day and of so many days before."""
    oldest = datetime.fromisoformat(newest.moment[:10]) - timedelta(days=days)
    same = [s for s in before if s.document["clusterId"] == newest.document["clusterId"]]
    return [*(s for s in same if s.moment[:10] >= oldest.date().isoformat()), newest]


Numbers = Mapping[str, Mapping[Name, int]]
"""By the moment of a snapshot: where logs ended."""


def growth(seen: Sequence[Seen], name: Name, ends: Numbers | None = None) -> Row:
    """What a partition has grown by between successive snapshots: its bytes, or its log where `ends` are given."""
    grown, seconds, intervals, peak, shrank = 0.0, 0.0, 0, -1.0, False
    for one, next_ in pairwise(seen):
        passed = _epoch(next_) - _epoch(one)
        values = [_size(s, seen[-1], name, ends) for s in (one, next_)]
        if values[0] is None or values[1] is None:
            continue
        more = values[1] - values[0]
        if more < 0:
            shrank = True
            continue
        grown, seconds, intervals = grown + more, seconds + passed, intervals + 1
        peak = max(peak, more / passed)
    found = {"grown": grown, "seconds": seconds, "intervals": intervals, "peak": peak}
    return {**found, "shrank": shrank}


def rates(before: Sequence[Seen], newest: Seen, ends: Numbers) -> list[Row]:
    """Rows of `rates`: the growth between the snapshots of this day and the one before."""
    seen = window(before, newest, 1)
    rows = []
    for name in newest.partitions:
        of, records = growth(seen, name), growth(seen, name, ends)
        known = None if of["intervals"] else "no-earlier-snapshot"
        rows.append(
            {
                "topic": name[0],
                "partition": name[1],
                "bytes_per_second": _mean(of),
                "peak_bytes_per_second": of["peak"] if of["intervals"] else None,
                "seconds": of["seconds"],
                "intervals": of["intervals"],
                "left_out": "shrank" if of["shrank"] else known,
                "records_per_second": _mean(records),
            }
        )
    return rows


def _mean(of: Row) -> float | None:
    return of["grown"] / of["seconds"] if of["intervals"] else None


def sums(before: Sequence[Seen], newest: Seen, ends: Numbers) -> list[Row]:
    """Rows of `sums`: what the rates are made of, since the day before and since this day began."""

    def span(name: Name, days: int) -> Row:
        seen = window(before, newest, days)
        numbers = {"bytes": growth(seen, name), "records": growth(seen, name, ends)}
        return {"since": seen[0].moment, "snapshots": len(seen), **numbers}

    return [
        {
            "topic": name[0],
            "partition": name[1],
            "topic_id": newest.topics[name[0]]["id"],
            "bytes": _number(newest, name, None),
            "log_end": _number(newest, name, ends),
            "window": span(name, 1),
            "today": span(name, 0),
        }
        for name in newest.partitions
    ]


def _epoch(seen: Seen) -> float:
    return datetime.fromisoformat(seen.moment).timestamp()


def _size(seen: Seen, newest: Seen, name: Name, ends: Numbers | None = None) -> int | None:
    """The bytes of a partition; None: not there, of another topic, or a broker with a replica of it did not tell.

    Or where its log ended, which its leader says alone.
    """
    state = seen.partitions.get(name)
    if state is None or seen.topics[name[0]]["id"] != newest.topics[name[0]]["id"]:
        return None
    if ends is not None:
        return ends.get(seen.moment, {}).get(name)
    if set(state["replicas"]) & {*seen.document.get("silent", ())}:
        return None
    return int(state["bytes"])


def _number(seen: Seen, name: Name, ends: Numbers | None) -> float | None:
    found = _size(seen, seen, name, ends)
    return None if found is None else float(found)


def history(
    compared: Sequence[tuple[Seen, Sequence[Row]]], applications: Sequence[Document]
) -> list[Row]:
    """Rows of `history`, from the comparisons of a cluster with what each found, oldest first."""
    if not compared:
        return []
    newest = compared[-1][0].document["clusterId"]
    compared = [one for one in compared if one[0].document["clusterId"] == newest]
    moments = [seen.moment for seen, _ in compared]
    things: dict[tuple[Any, ...], dict[int, Row]] = {}
    for at, (_, rows) in enumerate(compared):
        for row in rows:
            key = tuple(row[k] for k in ("topic", "partition", "broker", "kind"))
            things.setdefault(key, {})[at] = row
    mine = [one for one in applications if one["cluster_id"] == newest]
    return [_spells(found, moments, mine) | {"cluster_id": newest} for found in things.values()]


def _spells(
    found: Mapping[int, Row], moments: Sequence[str], applications: Sequence[Document]
) -> Row:
    last = max(found)
    began = [moments[at] for at in sorted(found) if at - 1 not in found]
    open_ = last == len(moments) - 1
    week = datetime.fromisoformat(moments[-1]) - FLAPPING_TIME
    recent = [m for m in began if datetime.fromisoformat(m) > week]
    moved = (
        []
        if open_
        else [
            one
            for one in applications
            if (found[last]["topic"], found[last]["partition"]) in one["moved"]
            and one["opened_at"] <= moments[last + 1]
            and one["ended_at"] > moments[last]
        ]
    )
    by = max(moved, key=lambda one: one["ended_at"], default=None)
    names = ("topic", "partition", "broker", "class", "kind", "owner", "acknowledged_until")
    return {
        **{name: found[last][name] for name in names},
        "first_seen": began[0],
        "since": began[-1],
        "last_seen": moments[last],
        "spells": len(began),
        "open": open_,
        "resolved_at": None if open_ else moments[last + 1],
        "resolved_by": None if by is None else by["application"],
        "flapping": len(recent) >= FLAPPING,
        "began": recent,
    }
