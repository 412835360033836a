"""The plan after a plan is empty, on clusters of up to 200 partitions that several goals pull at together.

Hypothesis draws small clusters; there goals seldom take back what the ones before them gave.
"""

import copy
from random import Random
from typing import Any

import pytest
from tests.profiles import count
from tests.properties.test_all_keys import World

from replan.planning.api import Plan, make_plan

FOUND = (156, 486, 490, 739, 998, 1056, 103, 682)
"""Here the next plan moved something once: goals that took from one another, and topics that crowd brokers."""
BY_TENS = range(1, count(fast=2, full=12, nightly=400))


@pytest.mark.parametrize("seeds", [FOUND, *(range(10 * n, 10 * n + 10) for n in BY_TENS)], ids=str)
def test_the_plan_after_a_plan_is_empty(seeds: range | tuple[int, ...]) -> None:
    for seed in seeds:
        world = drawn(Random(seed))  # noqa: S311 - the same worlds each time
        made = make_plan(world.placement(), world.snapshot())
        again = make_plan(world.placement(), ended(world, made).snapshot())
        if seeds is FOUND or not made.refusals:
            assert again.moves == (), seed


def drawn(chance: Random) -> World:
    """Topics on some of the brokers, rules, and up to three goals in any order."""
    racks = chance.choice(["abc", "ab", "abcd", "abcde"])
    number = chance.randint(len(racks) + 1, 12)
    brokers: list[dict[str, Any]] = [
        {"id": b + 1, "rack": racks[b % len(racks)]} for b in range(number)
    ]
    topics = [_topic(chance, f"t{t}", number) for t in range(chance.randint(1, 5))]
    directories = chance.choice([1, 2])
    cluster = {
        "formatVersion": 1,
        "kind": "replan.snapshot",
        "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
        "observedAt": "2026-11-21T03:00:00Z",
        "brokers": [{**b, "logDirs": _log_dirs(b["id"], topics, directories)} for b in brokers],
        "topics": topics,
    }
    return World(cluster, _placement(chance, number, racks, len(topics)))


def _topic(chance: Random, name: str, brokers: int) -> dict[str, Any]:
    factor = chance.randint(1, 3)
    some = chance.sample(range(1, brokers + 1), chance.randint(factor, brokers))
    lists = [chance.sample(some, factor) for _ in range(chance.choice([1, 3, 10, 40]))]
    sizes = [int(10**6 * chance.paretovariate(0.8)) for _ in lists]
    partitions = [{"replicas": r, "bytes": s} for r, s in zip(lists, sizes, strict=True)]
    return {"name": name, "minInsyncReplicas": 1, "partitions": partitions}


def _log_dirs(broker: int, topics: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """What lies on a broker, by turns in its directories."""
    found: list[dict[str, Any]] = [
        {"path": f"/d{d + 1}", "totalBytes": 10**12, "usableBytes": 10**12, "logs": 0}
        | {"replicas": {}}
        for d in range(number)
    ]
    held = [
        (topic["name"], at, partition["bytes"])
        for topic in topics
        for at, partition in enumerate(topic["partitions"])
        if broker in partition["replicas"]
    ]
    for turn, (topic, at, size) in enumerate(held):
        directory = found[turn % number]
        directory["replicas"].setdefault(topic, []).append(at)
        directory["logs"] += 1
        directory["usableBytes"] = max(0, directory["usableBytes"] - size)
    return found


def _placement(chance: Random, brokers: int, racks: str, topics: int) -> dict[str, Any]:
    every: dict[str, Any] = {"spread": chance.choice(["rack", "none"])}
    file: dict[str, Any] = {"version": 1, "assignments": {"*": every}}
    if chance.random() < 0.4:
        every["replicationFactor"] = chance.randint(1, min(3, len(racks)))
    if chance.random() < 0.3:
        every["maxReplicasPerBroker"] = chance.randint(1, 12)
    if chance.random() < 0.4:
        file["assignments"]["t0"] = {"replicasPerRack": {racks[0]: 1, racks[1]: 1}}
    if chance.random() < 0.3 and topics > 2:
        file["apart"] = [["t1", "t2"]]
    goals: list[dict[str, Any]] = []
    measures = ["replicas", "bytes", "leaders", "maxReplicasPerBroker"]
    for measure in chance.sample(measures, chance.randint(0, 3)):
        of_broker = measure == "maxReplicasPerBroker"
        within = chance.randint(3, 60) if of_broker else chance.choice(["0%", "1%", "5%", "20%"])
        goals.append({measure: within})
    if goals:
        file["balance"] = goals
    if chance.random() < 0.5:
        drained = {"broker": chance.randint(1, brokers), "reason": "x"}
        file["blacklists"] = {"replicas": [drained]}
    if chance.random() < 0.2:
        file["lastLeaders"] = [{"rack": racks[-1]}]
    return file


def ended(world: World, made: Plan) -> World:
    """The cluster once its moves are done."""
    cluster = copy.deepcopy(world.cluster)
    topics = {topic["name"]: topic["partitions"] for topic in cluster["topics"]}
    for move in made.moves:
        topics[move.partition.topic][move.partition.partition]["replicas"] = list(move.target)
    for broker in cluster["brokers"]:
        number = len(broker["logDirs"])
        broker["logDirs"] = _log_dirs(broker["id"], cluster["topics"], number)
    return World(cluster, world.file)
