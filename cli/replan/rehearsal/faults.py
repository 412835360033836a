"""Faults as a person writes them: `kill 3 at 10m for 5m`; and faults drawn by chance from a seed.

Here belongs the grammar, one line per kind, and what each line means to the simulator. docs/rehearse.md shows it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from replan.errors import BadUsage
from replan.manifest.units import format_rate, parse_rate
from replan.model.configs import ConfigChange, ConfigOperation, ConfigScope, topic_change
from replan.model.control_plane import ElectionType
from replan.model.names import BrokerId, TopicPartition, parse_topic_partition, replicas
from replan.planning.plan import Plan
from replan.simulator.commands import (
    AlterConfigs,
    AlterReassignments,
    DeleteTopic,
    ElectLeaders,
    RebalanceLeaders,
    UnregisterBroker,
)
from replan.simulator.faults import (
    Ask,
    At,
    Disconnect,
    DropFromIsr,
    Happening,
    KillBroker,
    LagMetadata,
    LoseRequests,
    Produce,
    RequestKind,
    Schedule,
    SlowBroker,
    StartBroker,
    StopBroker,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: as it was asked for, and what happens when; seconds count from the beginning of the rehearsal."""

    text: str
    schedule: Schedule

    @property
    def at_seconds(self) -> float:
        """When it begins."""
        return self.schedule[0].seconds


Groups = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kind:
    """One line of the grammar."""

    form: str
    pattern: re.Pattern[str]
    begins: Callable[[Groups], Happening]
    ends: Callable[[Groups], Happening] | None = None
    """What `for TIME` brings at its end; None where a kind does not take it."""

    @property
    def needs_for(self) -> bool:
        """Whether it must be said how long it lasts."""
        return "for TIME" in self.form.partition("[")[0]


def parse_fault(text: str) -> Fault:
    """Read one fault; raises BadUsage with the forms that there are."""
    found = _WHEN.fullmatch(text.strip())
    if found is None:
        raise BadUsage(f'--fault "{text}": it does not say when; write e.g. "{text} at 10m"')
    what, begin = found["what"], _seconds(found["at"])
    for kind in KINDS:
        read = kind.pattern.fullmatch(what)
        if read is not None:
            groups = {k: v for k, v in read.groupdict().items() if v is not None}
            if found["for"] is not None:
                groups["for"] = found["for"]
            return Fault(text.strip(), _schedule(text, kind, groups, begin))
    forms = "\n".join(f"  {kind.form}" for kind in KINDS)
    raise BadUsage(f'--fault "{text}": nothing is known of "{what}"; the faults are:\n{forms}')


def _schedule(text: str, kind: Kind, groups: Groups, begin: float) -> Schedule:
    if kind.needs_for and "for" not in groups:
        raise BadUsage(f'--fault "{text}": it does not say for how long; the form is: {kind.form}')
    try:
        first = At(begin, kind.begins(groups))
        if "for" not in groups or kind.needs_for:
            return (first,)
        if kind.ends is not None:
            return first, At(begin + _seconds(groups["for"]), kind.ends(groups))
    except ValueError as problem:
        raise BadUsage(f'--fault "{text}": {problem}; the form is: {kind.form}') from problem
    raise BadUsage(f'--fault "{text}": it cannot end by itself; the form is: {kind.form}')


_WHEN = re.compile(
    r"(?P<what>.+?)\s+at\s+(?P<at>[0-9.]+[smhd])(?:\s+for\s+(?P<for>[0-9.]+[smhd]))?"
)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(B|[KMGT]B)")
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_KINDS_OF_REQUEST = {
    "reassign": RequestKind.REASSIGN,
    "elect": RequestKind.ELECT,
    "configs": RequestKind.CONFIGURE,
}


def _seconds(text: str) -> float:
    try:
        return float(text[:-1]) * _UNITS[text[-1]]
    except ValueError as problem:
        raise BadUsage(f"{text} is not a time; write e.g. 30s, 10m or 2h") from problem


def parse_size(text: str) -> int:
    """Read `500MB`; raises ValueError."""
    read = _SIZE.fullmatch(text)
    if read is None:
        raise ValueError(f"{text} is not a size, e.g. 500MB")
    return round(float(read[1]) * _BYTES[read[2]])


def _broker(groups: Groups) -> BrokerId:
    return BrokerId(int(groups["broker"]))


def _partition(groups: Groups) -> TopicPartition:
    return parse_topic_partition(groups["partition"])


def _rate(groups: Groups) -> int:
    rate = parse_rate(groups["rate"])
    if rate is None:
        raise ValueError("unlimited is no rate here")
    return rate


def _reassign(groups: Groups) -> Happening:
    listed = replicas(*(int(b) for b in groups["list"].split(",")))
    return Ask(AlterReassignments(((_partition(groups), listed),)))


def _configs(groups: Groups) -> Happening:
    scope = ConfigScope(groups["scope"])
    value = groups.get("value")
    operation = ConfigOperation.DELETE if value is None else ConfigOperation.SET
    change = ConfigChange(scope, groups["name"], groups["key"], operation, value or "")
    return Ask(AlterConfigs((change,)))


def _min_isr(groups: Groups) -> Happening:
    change = topic_change(
        groups["topic"], "min.insync.replicas", ConfigOperation.SET, groups["number"]
    )
    return Ask(AlterConfigs((change,)))


def _unknown(groups: Groups) -> Happening:
    kind = _KINDS_OF_REQUEST[groups.get("kind", "reassign")]
    late = groups.get("late")
    after = None if "without" in groups else 0.0
    return LoseRequests(kind, 1, _seconds(late) if late is not None else after)


def _kind(
    form: str,
    pattern: str,
    begins: Callable[[Groups], Happening],
    ends: Callable[[Groups], Happening] | None = None,
) -> Kind:
    spelled = pattern.replace("BROKER", r"(?P<broker>\d+)").replace(
        "PARTITION", r"(?P<partition>\S+-\d+)"
    )
    return Kind(form, re.compile(spelled.replace(" ", r"\s+")), begins, ends)


def _start(groups: Groups) -> Happening:
    return StartBroker(_broker(groups))


KINDS: Sequence[Kind] = (
    _kind(
        "kill BROKER at TIME [for TIME]           its process dies; back after `for`",
        "kill BROKER",
        lambda g: KillBroker(_broker(g)),
        _start,
    ),
    _kind(
        "stop BROKER at TIME [for TIME]           a controlled shutdown",
        "(?:stop|shutdown) BROKER",
        lambda g: StopBroker(_broker(g)),
        _start,
    ),
    _kind(
        "restart BROKER at TIME                   a stopped or killed one starts again",
        "(?:re)?start BROKER",
        _start,
    ),
    _kind(
        "slow BROKER to RATE at TIME [for TIME]   its network carries no more, e.g. 5MB/s",
        r"slow BROKER to (?P<rate>\S+)",
        lambda g: SlowBroker(_broker(g), _rate(g)),
        lambda g: SlowBroker(_broker(g), None),
    ),
    _kind(
        "drop PARTITION BROKER [by SIZE] at TIME  a follower falls behind and leaves the ISR",
        r"drop PARTITION BROKER(?: by (?P<size>\S+))?",
        lambda g: DropFromIsr(_partition(g), _broker(g), parse_size(g.get("size", "1MB"))),
    ),
    _kind(
        "produce PARTITION RATE at TIME           from then on so much is written",
        r"produce PARTITION (?P<rate>\S+)",
        lambda g: Produce(_partition(g), _rate(g)),
    ),
    _kind(
        "reassign PARTITION [1,2] at TIME         another tool moves it",
        r"reassign PARTITION \[(?P<list>\d+(?: ?, ?\d+)*)\]".replace(" ?", r"\s*"),
        _reassign,
    ),
    _kind(
        "cancel PARTITION at TIME                 another tool cancels what runs on it",
        "cancel PARTITION",
        lambda g: Ask(AlterReassignments(((_partition(g), None),))),
    ),
    _kind(
        "elect PARTITION at TIME                  another tool asks for a preferred election",
        "elect PARTITION",
        lambda g: Ask(ElectLeaders((_partition(g),), ElectionType.PREFERRED)),
    ),
    _kind(
        "min-isr TOPIC NUMBER at TIME             somebody sets min.insync.replicas",
        r"min-isr (?P<topic>\S+) (?P<number>\d+)",
        _min_isr,
    ),
    _kind(
        "set topic|broker NAME KEY=VALUE at TIME  somebody sets a configuration",
        r"set (?P<scope>topic|broker) (?P<name>\S+) (?P<key>[a-z.]+)=(?P<value>\S+)",
        _configs,
    ),
    _kind(
        "unset topic|broker NAME KEY at TIME      somebody removes one, a throttle of ours say",
        r"unset (?P<scope>topic|broker) (?P<name>\S+) (?P<key>[a-z.]+)",
        _configs,
    ),
    _kind(
        "delete TOPIC at TIME",
        r"delete (?P<topic>\S+)",
        lambda g: Ask(DeleteTopic(g["topic"])),
    ),
    _kind(
        "unregister BROKER at TIME",
        "unregister BROKER",
        lambda g: Ask(UnregisterBroker(_broker(g))),
    ),
    _kind(
        "rebalance at TIME                        auto.leader.rebalance.enable acts",
        "rebalance",
        lambda _: Ask(RebalanceLeaders()),
    ),
    _kind(
        "unknown [reassign|elect|configs] [with effect|without effect|late by TIME] at TIME",
        r"unknown(?: (?P<kind>reassign|elect|configs))?"
        r"(?: with effect| (?P<without>without) effect| late by (?P<late>\S+))?",
        _unknown,
    ),
    _kind(
        "silence at TIME for TIME                 nobody answers us",
        "silence",
        lambda g: Disconnect(_seconds(g["for"])),
    ),
    _kind(
        "metadata TIME behind at TIME             brokers show what was so long ago",
        r"metadata (?P<lag>\S+) behind",
        lambda g: LagMetadata(_seconds(g["lag"])),
    ),
)


SHORTEST_SECONDS = 5.0
"""Within which the first fault is drawn, however quick the plan."""


def drawn_faults(seed: int, plan: Plan, horizon_seconds: float) -> tuple[Fault, ...]:
    """One to three faults at brokers of the plan within the time that it takes undisturbed; the same for a seed.

    At most one broker is away at a time, and it comes back.
    """
    chance = Random(seed)  # noqa: S311 - a rehearsal is no secret
    brokers = sorted({b for m in plan.moves for b in (*m.original, *m.target)})
    if not brokers:
        return ()
    moment, found = 0.0, list[Fault]()
    for _ in range(chance.randint(1, 3)):
        moment += chance.uniform(0, max(SHORTEST_SECONDS, horizon_seconds / 2))
        fault = _drawn(chance, plan, brokers, moment)
        found.append(fault)
        moment = fault.schedule[-1].seconds + 30
    return tuple(found)


def _drawn(chance: Random, plan: Plan, brokers: Sequence[BrokerId], moment: float) -> Fault:
    broker, away, at = chance.choice(brokers), chance.choice([30, 120, 600]), round(moment)
    drop = f"drop {chance.choice(plan.moves).partition} {broker} by 50MB at {at}s"
    slow = f"slow {broker} to {format_rate(5_000_000)} at {at}s for {away}s"
    late = chance.choice(["with effect", "without effect", "late by 70s"])
    text = chance.choice(
        [
            f"kill {broker} at {at}s for {away}s",
            f"kill {broker} at {at}s for {away}s",
            f"stop {broker} at {at}s for {away}s",
            slow,
            drop,
            f"unknown reassign {late} at {at}s",
        ]
    )
    return parse_fault(text)
