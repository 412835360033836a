"""Hypothesis: placements of every key that says where replicas lie, and the rules that a plan of them breaks."""

import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import assume, note
from hypothesis import strategies as st
from tests.properties.test_all_keys import RATES, World, worlds

from replan.errors import BadPlacement, UnsafePlan
from replan.model.api import BrokerSelector, PartitionState, Placement, Snapshot, TopicRule
from replan.planning.api import Alignment, Plan, acknowledgements_of, make_plan

HOW: list[dict[str, Any]] = [
    {"inRack": "a"},
    {"replicasPerRack": {"a": 1, "b": 1}},
    {"replicasPerRack": {"a": 2}},
    {"spread": "rack"},
    {"spread": "in-rack"},
    {},
]
BROKERS = [None, None, [1, 2, "3-9"], {"racks": ["a", "b"]}, {"racks": ["b", "c"], "ids": ["1-9"]}]


def rule(draw: st.DrawFn) -> dict[str, Any]:
    """An entry by rule, of keys that go together."""
    found = dict(draw(st.sampled_from(HOW)))
    among = draw(st.sampled_from(BROKERS))
    if "replicasPerRack" not in found:
        found |= draw(st.sampled_from([{}, {"replicationFactor": 1}, {"replicationFactor": 2}]))
        found |= {} if among is None else {"brokers": among}
    most = draw(st.none() | st.integers(1, 4))
    return found | ({} if most is None else {"maxReplicasPerBroker": most}) or {"spread": "none"}


@st.composite
def drawn(draw: st.DrawFn) -> World:
    """One of `worlds`, with other rules, and racks where it names brokers."""
    world = draw(worlds())
    file = copy.deepcopy(world.file)
    entries = file["assignments"]
    for name in ("clicks", "metrics-*"):
        if draw(st.booleans()):
            count = entries.get(name, {}).get("partitionCount")
            entries[name] = rule(draw) | ({} if count is None else {"partitionCount": count})
    if draw(st.booleans()):
        entries["*"] = rule(draw) | draw(st.sampled_from([{}, {"except": ["events", "o*"]}]))
    listed = file.get("blacklists", {})
    for entry in [*listed.get("replicas", ()), *listed.get("leaders", ())]:
        if draw(st.integers(0, 5)) == 0 and "logDirs" not in listed:
            del entry["broker"]
            entry["rack"] = draw(st.sampled_from("abc"))
    return World(world.cluster, file)


def planned(world: World) -> tuple[Placement, Snapshot, Plan]:
    """A file that contradicts itself is no case, nor one whose balance is required and out of reach."""
    try:
        asked, seen = world.placement(), world.snapshot()
        return asked, seen, make_plan(asked, seen, rates=RATES)
    except BadPlacement as wrong:
        note(str(wrong))
        assume(False)
        raise
    except UnsafePlan as unsafe:
        if "bug in replan" not in str(unsafe):
            assume(False)
        raise


def broken(asked: Placement, seen: Snapshot, plan: Plan) -> Iterator[str]:
    """Rules that are broken, by partitions that are neither refused, acknowledged nor listed."""
    states = list(seen.states(range(seen.partitions.num_rows)))
    names = [one.partition for one in states]
    known = dict(zip(names, acknowledgements_of(names, asked, seen), strict=True))
    refused = {refusal.partition for refusal in plan.refusals}
    rules = Alignment.of(asked, seen).intents.rules
    rack: dict[int, str | None] = {b.id: b.rack for b in seen.brokers}
    unknown = frozenset(int(b) for b in seen.brokers_of_unknown_rack())
    free = [
        one
        for one in states
        if one.partition.topic in rules
        and one.partition not in refused
        and not known[one.partition]
    ]
    yield from _by_itself(free, rules, rack, unknown)
    holds: Counter[tuple[str, int]] = Counter()
    sides: dict[tuple[int, int], set[int]] = defaultdict(set)
    groups = [group.sides(sorted({name.topic for name in names})) for group in asked.apart]
    for one in free:
        topic = one.partition.topic
        holds.update((topic, int(b)) for b in one.replicas)
        for number, group in enumerate(groups):
            for broker in one.replicas if topic in group else ():
                sides[number, broker].add(group[topic])
    for (topic, at), number in holds.items():
        most = rules[topic].max_replicas_per_broker
        if most is not None and number > most:
            yield f"{topic}: {number} replicas on broker {at}"
    for (_, at), of in sides.items():
        if len(of) > 1:
            yield f"broker {at} holds topics that are declared apart"


def _by_itself(
    free: Sequence[PartitionState],
    rules: Mapping[str, TopicRule],
    rack: Mapping[int, str | None],
    unknown: frozenset[int],
) -> Iterator[str]:
    """What a partition breaks, whatever the others do and wherever those of `unknown` rack are, which are down."""
    for one in free:
        found = rules[one.partition.topic]
        if found.replication_factor not in (None, len(one.replicas)):
            yield f"{one.partition}: {len(one.replicas)} replicas"
        known = [b for b in one.replicas if b not in unknown]
        ids = None if found.brokers is None else BrokerSelector(found.brokers.ids)
        named = all(ids is None or ids.means(b, None) for b in one.replicas if b in unknown)
        if not named or not all(found.may_use(b, rack.get(b)) for b in known):
            yield f"{one.partition}: on brokers that its rule does not name"
        wanted, racks = Counter(found.replicas_per_rack), Counter(rack.get(b) for b in known)
        exact = len(known) == len(one.replicas)
        if wanted and (racks != wanted if exact else not racks <= wanted):
            yield f"{one.partition}: other numbers in its racks"


@st.composite
def apart(draw: st.DrawFn) -> World:
    """One with topics apart, and a balance in the order of its author."""
    world = draw(drawn())
    file = copy.deepcopy(world.file)
    file["apart"] = draw(
        st.sampled_from(
            [[["clicks", "metrics-*"]], [["orders", "clicks", "events"], ["orders", "m*"]]]
        )
    )
    measures: dict[str, Any] = {
        "maxReplicasPerBroker": draw(st.integers(1, 9)),
        **{
            key: draw(st.sampled_from(["20%", "50%", "100%"]))
            for key in ("replicas", "bytes", "leaders")
        },
    }
    order = draw(st.permutations(sorted(measures)))[: draw(st.integers(1, 3))]
    file["balance"] = [{key: measures[key]} for key in order]
    return World(world.cluster, file)
