"""The laws of plans over whole placement files: any of their keys together, on any small cluster.

A file is made as text and read as any other, and its plan is performed by the applier on the simulator: it harms nobody
(law 2), arrives so that the next plan is empty (3), and copies only what an entry asks for (7). That it is the same
whatever the order of its input (1) is in `test_any_placements`.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st
from tests.profiles import count
from tests.unit.applying.lab import Lab

from replan.applying.api import as_planned_from
from replan.errors import BadPlacement, UnsafePlan
from replan.model.api import Placement, Rates, Snapshot, TopicPartition
from replan.placement_file.api import Source, fastest_parser, load_sources
from replan.planning.api import Plan, dumps, make_plan, over_limits
from replan.rehearsal.api import Options, cluster_of, rehearse_plan
from replan.reporting.api import (
    compare_placements,
    compare_plans,
    render_difference,
    render_difference_markdown,
    render_placement_difference,
    render_placement_difference_markdown,
)
from replan.simulator.api import SimulatedControlPlane, VirtualClock
from replan.snapshots.api import from_document, rates_with_digest

RACKS = "abc"
TOPICS = ("clicks", "events", "metrics-a", "orders")
RULED = ("clicks", "metrics-a")
"""Named by a rule, where the file has one: by name, and by a pattern."""
GB = 10**9
ENOUGH = settings(
    max_examples=count(fast=4, full=40, nightly=2_000),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


RATES = rates_with_digest(
    Rates({TopicPartition(t, n): n * 37 % 50 for t in TOPICS for n in range(9)})
)
"""Bytes per second, too few to hold any copy up."""


@dataclass(frozen=True)
class World:
    """A cluster and a placement file, as documents."""

    cluster: dict[str, Any]
    file: dict[str, Any]

    def snapshot(self) -> Snapshot:
        return from_document(self.cluster, "cluster.json")

    def placement(self) -> Placement:
        return load_sources([Source("placement.yaml", json.dumps(self.file))], fastest_parser())


def parts(draw: st.DrawFn, of: Mapping[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    """Any of these keys."""
    return {key: draw(found) for key, found in of.items() if draw(st.booleans())}


def members(count: int, least: int = 1) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, count), unique=True, min_size=least, max_size=3)


@st.composite
def clusters(draw: st.DrawFn, count: int) -> dict[str, Any]:
    """Healthy partitions in sync, on brokers with two directories each that say what lies in them."""
    topics: list[dict[str, Any]] = [
        {
            "name": topic,
            "minInsyncReplicas": 1,
            "partitions": [
                {"replicas": draw(members(count)), "bytes": draw(st.integers(0, 40)) * 1_000_000}
                for _ in range(draw(st.integers(1, 3)))
            ],
        }
        for topic in TOPICS
    ]
    if draw(st.booleans()):
        factor = draw(st.integers(1, 3))
        for topic in topics:
            for partition in topic["partitions"]:
                listed = partition["replicas"]
                rest = [b for b in range(1, count + 1) if b not in listed]
                partition["replicas"] = [*listed, *rest][:factor]
    brokers = []
    for broker in range(1, count + 1):
        lies = {
            t["name"]: [n for n, p in enumerate(t["partitions"]) if broker in p["replicas"]]
            for t in topics
        }
        first = {name: numbers[:1] for name, numbers in lies.items() if numbers[:1]}
        second = {name: numbers[1:] for name, numbers in lies.items() if numbers[1:]}
        brokers.append(
            {
                "id": broker,
                "rack": RACKS[broker % 3],
                "logDirs": [
                    {
                        "path": path,
                        "totalBytes": 100 * GB,
                        "usableBytes": 90 * GB,
                        "logs": sum(map(len, replicas.values())),
                        "replicas": replicas,
                    }
                    for path, replicas in (("/d1", first), ("/d2", second))
                ],
            }
        )
    return {
        "formatVersion": 1,
        "kind": "replan.snapshot",
        "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
        "observedAt": "2026-11-21T03:00:00Z",
        "brokers": brokers,
        "topics": topics,
    }


def rules(draw: st.DrawFn, count: int, present: int) -> dict[str, Any]:
    found = parts(
        draw,
        {
            "replicationFactor": st.integers(1, 3),
            "spread": st.sampled_from(["rack", "none", "in-rack"]),
            "brokers": st.sampled_from([[f"1-{count}"], [1, 2, f"3-{count}"], [f"2-{count}"]]),
            "partitionCount": st.integers(present, present + 2),
            "maxReplicasPerBroker": st.integers(1, 3),
        },
    )
    return found or {"replicationFactor": 1}


@st.composite
def worlds(draw: st.DrawFn) -> World:
    count = draw(st.integers(4, 6))
    cluster = draw(clusters(count))
    present: dict[str, int] = {t["name"]: len(t["partitions"]) for t in cluster["topics"]}
    lists: st.SearchStrategy[Any] = st.lists(
        members(count), min_size=present["orders"], max_size=present["orders"] + 2
    )
    some: st.SearchStrategy[Any] = st.fixed_dictionaries({"0": members(count)})
    file: dict[str, Any] = {"version": 1, "assignments": {}}
    if draw(st.booleans()):
        rows = draw(st.one_of(some, lists))
        file["assignments"]["orders"] = {"partitions": rows, "belowMinIsr": True}
    if draw(st.booleans()):
        file["assignments"]["clicks"] = rules(draw, count, present["clicks"])
    if draw(st.booleans()):
        file["assignments"]["metrics-*"] = rules(draw, count, present["metrics-a"])
    ids, dates = st.integers(1, count), st.sampled_from(["2026-11-20", "2026-12-01"])
    entry = {"reason": "a test", "owner": "storage"}
    blacklists: dict[str, list[dict[str, Any]]] = {
        "leaders": [
            {"broker": b, "reviewBy": draw(dates), **entry}
            for b in draw(st.lists(ids, unique=True, max_size=2))
        ],
        "replicas": [
            {"broker": b, "reviewBy": draw(dates), **entry}
            for b in draw(st.lists(ids, unique=True, max_size=1))
        ],
        "logDirs": [
            {"broker": b, "path": "/d1", "reviewBy": draw(dates), **entry}
            for b in draw(st.lists(ids, unique=True, max_size=1))
        ],
    }
    written = draw(st.sets(st.sampled_from(sorted(blacklists))))
    """Also those that are empty: an empty leader blacklist lifts an earlier one."""
    for drained in blacklists["logDirs"]:
        # A directory that is open gets new replicas meanwhile; a plan warns of that.
        cluster["brokers"][drained["broker"] - 1]["logDirs"][0]["cordoned"] = True
    rates = st.sampled_from(["20MB/s", "50MB/s", "unlimited"])
    side = {"leader": "30MB/s", "follower": "40MB/s"}
    last = cluster["topics"][1]["partitions"][0]["replicas"][-1]
    leaders = parts(
        draw,
        {
            "metrics-*": st.sampled_from([{"racks": ["b", "a"]}, {"balanced": True}]),
            "clicks": st.sampled_from([{"balanced": True}, {"racks": ["c"]}]),
            "events": st.just({"0": last}),
        },
    )
    throttles = parts(
        draw,
        {
            "moves": st.fixed_dictionaries(
                {"rate": rates, "brokers": st.sampled_from([{}, {"1": "10MB/s"}, {"2": side}])}
            ),
            "standing": st.sampled_from(
                [{"topics": {"events": "all"}, "brokers": {"1": side}}, {"brokers": {"2": side}}]
            ),
        },
    )
    tolerance = st.sampled_from(["50%", "100%", "200%"])
    wide = st.just("400%")
    balance: Any = parts(
        draw,
        {
            "maxReplicasPerBroker": st.integers(1, 9),
            "replicas": tolerance,
            "bytes": wide,
            "bytesIn": wide,
            "bytesOut": tolerance,
            "leaders": tolerance,
        },
    )
    if "leaders" in balance:
        balance["by"] = draw(st.sampled_from(["count", "bytes", "bytesIn"]))
    weighted = draw(st.booleans())
    if balance and weighted:
        balance["weights"] = {"1": 2}
    if balance and draw(st.booleans()):
        by = {"by": balance.pop("by")} if "by" in balance else {}
        balance = [
            {key: balance[key]} | (by if key == "leaders" else {})
            for key in draw(st.permutations(sorted(balance)))
        ]
    numbers: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {"partitions": [0]}])
    acknowledged = [
        {"topic": topic, "reason": "later", "expires": draw(dates), **draw(numbers)}
        for topic in draw(
            st.lists(st.sampled_from([*TOPICS, "metrics-*", "*"]), unique=True, max_size=2)
        )
    ]
    sections = {
        "preferredLeaders": leaders,
        "blacklists": {key: found for key, found in blacklists.items() if found or key in written},
        "throttles": throttles,
        "balance": balance,
        "acknowledged": acknowledged,
        **parts(
            draw,
            {
                "cluster": st.just({"name": "test", "id": cluster["clusterId"]}),
                "lastLeaders": st.sampled_from([[1], [{"rack": "a"}, 2], [{"rack": "b"}]]),
                "apart": st.sampled_from(
                    [[["clicks", "metrics-*"]], [["orders", "clicks", "events"], ["orders", "m*"]]]
                ),
                "recovery": st.just({"*": {"strategy": "balanced", "wait": "5m"}}),
                "require": st.just({"*": {"replicationFactor": 1}}),
                "limits": st.just({"partitions": 500, "bytes": "2TB", "leaders": 200}),
            },
        ),
    }
    return World(cluster, file | {key: found for key, found in sections.items() if found})


def planned(world: World) -> tuple[Placement, Plan]:
    """The plan; a file that contradicts itself, and a balance that cannot be reached, are no case."""
    try:
        asked = world.placement()
        return asked, make_plan(asked, world.snapshot(), rates=RATES)
    except (BadPlacement, UnsafePlan) as refused:
        note(str(refused))
        reject()


@given(worlds(), worlds())
@ENOUGH
def test_any_two_placements_and_any_two_plans_can_be_compared(first: World, second: World) -> None:
    (before, was), (after, now) = planned(first), planned(second)
    found = compare_placements(before, after)
    assert found.none or before.digest != after.digest
    assert {key for key, (old, new) in found.settings.items() if old == new} == set()
    plans = compare_plans(was, now)
    assert {n for n, (old, new) in plans.moves.items() if old == new} == set()
    for text in (
        render_placement_difference(found),
        render_placement_difference_markdown(found),
        render_difference(plans),
        render_difference_markdown(plans),
    ):
        assert text.endswith("\n")


def shuffled(found: Any, chance: Any) -> Any:
    """The same with the keys of mappings in another order."""
    if isinstance(found, dict):
        keys = chance.sample(sorted(found), len(found))
        return {key: shuffled(found[key], chance) for key in keys}
    return found


@st.composite
def some_limits(draw: st.DrawFn) -> dict[str, Any]:
    """Narrow ones, some of which no single change keeps."""
    found = parts(
        draw,
        {
            "partitions": st.integers(1, 4),
            "bytes": st.integers(20, 150).map(lambda size: f"{size}MB"),
            "bytesPerBroker": st.integers(20, 80).map(lambda size: f"{size}MB"),
            "leaders": st.integers(0, 3),
            "replicationFactorDecreases": st.integers(0, 2),
            "topics": st.integers(1, 3),
        },
    )
    return found or {"partitions": 1}


@given(worlds(), some_limits())
@ENOUGH
def test_stages_within_limits_come_to_the_end_of_the_whole_plan(
    world: World, limits: dict[str, Any]
) -> None:
    """Each is a plan like any other, changes something, and is kept by the limits."""
    free, whole = planned(World(world.cluster, {**world.file, "limits": {"partitions": 500}}))
    asked = World(world.cluster, {**world.file, "limits": {**limits, "stage": True}}).placement()
    clock = VirtualClock()
    plane = SimulatedControlPlane(cluster_of(world.snapshot()), clock)
    stages, seen = 0, world.snapshot()
    while True:
        made = make_plan(asked, seen, rates=RATES)
        assert over_limits(made.all_changes, asked.limits) == ()
        if not made.changes:
            break
        stages += 1
        assert stages <= 3 * (whole.steps + 2), "it comes to an end"
        lab = Lab(plane, clock, made)
        assert lab.apply().exit_code is made.left_out
        seen = as_planned_from(lab.plane.observe(), lab.ledger)
    left = make_plan(free, seen, rates=RATES)
    refused = {r.partition.topic for r in (*whole.refusals, *made.refusals)}
    assert refused or left.empty, dumps(left)
    if "balance" not in world.file:  # what is refused has its part in the balance of the others
        assert {c.topic for c in left.all_changes if c.topic is not None} <= refused


@given(worlds())
@ENOUGH
def test_it_harms_nobody_and_arrives(world: World) -> None:
    asked, made = planned(world)
    seen = world.snapshot()
    if made.moves:
        assert rehearse_plan(made, seen, Options()).broken == ()
    clock = VirtualClock()
    lab = Lab(SimulatedControlPlane(cluster_of(seen), clock), clock, made)
    outcome = lab.apply()
    assert outcome.exit_code is made.left_out, outcome
    ended = as_planned_from(lab.plane.observe(), lab.ledger)
    again = make_plan(asked, ended, rates=RATES)
    if made.refusals:  # what was refused may have become possible
        refused = {r.partition.topic for r in made.refusals}
        assert {m.partition.topic for m in again.moves} <= refused
        assert {m.partition.topic for m in again.log_moves} <= refused
        assert {c.topic for c in again.creates} <= refused
    else:
        assert again.empty, dumps(again)


@given(worlds())
@ENOUGH
def test_only_what_an_entry_asks_for_is_copied(world: World) -> None:
    _, made = planned(world)
    gone = {entry["broker"] for entry in world.file.get("blacklists", {}).get("replicas", [])}
    grown = {c.topic: c.present for c in made.creates}
    for move in made.moves:
        topic, number = move.partition
        if not move.new or number >= grown.get(topic, number + 1):
            continue
        if topic == "orders" or not gone.isdisjoint(move.original):
            assert len(move.new) <= len(move.target)
            continue
        assert topic in RULED
        rule = world.file["assignments"]["clicks" if topic == "clicks" else "metrics-*"]
        assert "balance" in world.file or not kept(rule, move.original), (rule, move)


def kept(rule: dict[str, Any], held: Sequence[int]) -> bool:
    """Whether a list keeps its rule, on brokers none of which is drained."""
    first = 2 if str(rule.get("brokers", [1])[0]).startswith("2") else 1
    if rule.get("replicationFactor", len(held)) != len(held) or any(b < first for b in held):
        return False
    racks = Counter(RACKS[b % 3] for b in held)
    if rule.get("spread") == "in-rack":
        return len(racks) == 1
    if rule.get("spread") == "rack":
        return max(racks.values()) - min(racks[r] for r in RACKS) <= 1
    return True
