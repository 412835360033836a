"""Throttles in few words: what a request changes, and what is set.

The two lists of a topic and the two rates of a broker are named by their side, leader or follower.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
)
from replan.wording import rate

SIDES = {
    LEADER_REPLICAS: "leader",
    FOLLOWER_REPLICAS: "follower",
    LEADER_RATE: "leader",
    FOLLOWER_RATE: "follower",
    LOG_DIRS_RATE: "log directories",
}
LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
LEADERS = (LEADER_REPLICAS, LEADER_RATE)
RATES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
Stored = Mapping[tuple[ConfigScope, str], Mapping[str, str]]


def changes_in_words(changes: Sequence[ConfigChange]) -> str:
    """One request: `orders leader +0:1,0:2, follower +0:4; leader rate 1 MB/s on 1,2`."""
    by_topic: dict[str, list[str]] = {}
    by_rate: dict[str, list[str]] = {}
    for change in sorted(changes, key=lambda c: (c.name, c.key not in LEADERS)):
        if change.scope is ConfigScope.TOPIC:
            by_topic.setdefault(change.name, []).append(_list_change(change))
        else:
            by_rate.setdefault(_rate_change(change), []).append(change.name)
    parts = [f"{topic} {', '.join(lists)}" for topic, lists in by_topic.items()]
    parts += [f"{what} on {','.join(names)}" for what, names in by_rate.items()]
    return "; ".join(parts)


def _list_change(change: ConfigChange) -> str:
    side = SIDES.get(change.key, change.key)
    match change.operation:
        case ConfigOperation.APPEND:
            return f"{side} +{change.value}"
        case ConfigOperation.SUBTRACT:
            return f"{side} -{change.value}"
        case ConfigOperation.SET:
            return f"{side} = {change.value}"
        case ConfigOperation.DELETE:
            return f"{side} list removed"
        case _:
            assert_never(change.operation)


def _rate_change(change: ConfigChange) -> str:
    side = SIDES.get(change.key, change.key)
    if change.operation is ConfigOperation.DELETE:
        return f"no {side} rate"
    return f"{side} rate {rate(int(change.value))}"


def standing_in_words(stored: Stored) -> list[str]:
    """All throttles that are set, as they are stored, empty overrides too."""
    lines = [
        f"{name}: {found}"
        for (scope, name), values in sorted(stored.items())
        if scope is ConfigScope.TOPIC and (found := ", ".join(_values(values)))
    ]
    alike: dict[str, list[str]] = {}
    for name, values in sorted(_of_brokers(stored), key=lambda item: (len(item[0]), item[0])):
        found = ", ".join(_values(values))
        if found:
            alike.setdefault(found, []).append(name)
    return lines + [f"{_brokers(names)}: {found}" for found, names in alike.items()]


def _of_brokers(stored: Stored) -> list[tuple[str, Mapping[str, str]]]:
    return [(name, v) for (scope, name), v in stored.items() if scope is ConfigScope.BROKER]


def _brokers(names: Sequence[str]) -> str:
    known = [n for n in names if n]
    one = "broker" if len(known) == 1 else "brokers"
    found = [f"{one} {','.join(known)}"] if known else []
    return " and ".join([*(["default of all brokers"] if "" in names else []), *found])


def _values(values: Mapping[str, str]) -> Iterator[str]:
    for key in LISTS:
        if key in values:
            yield f"{SIDES[key]} list {values[key] or 'empty'}"
    for key in RATES:
        if key in values:
            yield f"{SIDES[key]} rate {rate(int(values[key]))}"
