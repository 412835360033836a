"""Hypothesis: placement files of all keys, beside clusters that are ill, crowded, half way, or about to be left.

What `test_all_keys` draws can be applied to its end. This draws what there is on a bad day as well: brokers that are
down, cordoned, gone or of unknown rack, disks that are nearly full, partitions without a leader or that another tool
moves.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.properties.drawn_placements import apart, drawn, rule
from tests.properties.test_all_keys import GB, World, parts, some_limits

Cluster = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A world, and what may be asked of its plan."""

    world: World
    arrives: bool
    """Whether what is planned can be thought to its end: nothing is short of room, half way, or without a leader."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A placement file beside a cluster."""
    world = draw(st.one_of(drawn(), drawn(), apart()))
    cluster, file = copy.deepcopy(world.cluster), copy.deepcopy(world.file)
    if draw(st.booleans()):
        _more_brokers(draw, cluster)
    if draw(st.booleans()):
        _more_topics(draw, cluster)
    for change in draw(st.lists(st.sampled_from(FILES), unique=True, max_size=4)):
        change(draw, file)
    ill = draw(st.lists(st.sampled_from(ILLS), unique=True, max_size=3))
    for change in ill:
        change(draw, cluster)
    _led(cluster)
    return Case(World(cluster, file), arrives=set(ill) <= HEALTHY)


def _more_brokers(draw: st.DrawFn, cluster: Cluster) -> None:
    """Empty ones: they have just joined."""
    count = len(cluster["brokers"])
    for broker in range(count + 1, count + draw(st.integers(2, 7))):
        dirs = [
            {"path": path, "totalBytes": 100 * GB, "usableBytes": 90 * GB, "logs": 0}
            for path in ("/d1", "/d2")
        ]
        rack = draw(st.sampled_from("abc" if draw(st.booleans()) else "d"))
        cluster["brokers"].append({"id": broker, "rack": rack, "logDirs": dirs})


def _more_topics(draw: st.DrawFn, cluster: Cluster) -> None:
    """Some of many partitions, on few brokers; one of Kafka's own."""
    count = len(cluster["brokers"])
    names = st.sampled_from(["__consumer_offsets", "pay.eu", "pay.us", "metrics-b"])
    for name in draw(st.lists(names, unique=True, min_size=1, max_size=3)):
        factor, number = draw(st.integers(1, min(3, count))), draw(st.integers(1, 12))
        first, step = draw(st.integers(0, count - 1)), draw(st.integers(0, 2))
        size = draw(st.sampled_from([0, 1, 10**6, 10**9]))
        lists = [
            [(first + n * step + place) % count + 1 for place in range(factor)]
            for n in range(number)
        ]
        rows = [{"replicas": listed, "bytes": size * (n % 3 + 1)} for n, listed in enumerate(lists)]
        cluster["topics"].append(
            {"name": name, "minInsyncReplicas": draw(st.integers(1, 2)), "partitions": rows}
        )
        for broker in cluster["brokers"]:
            numbers = [n for n, listed in enumerate(lists) if broker["id"] in listed]
            found = broker["logDirs"][1]
            if numbers:
                found["replicas"] = {**found.get("replicas", {}), name: numbers}
                found["logs"] += len(numbers)


def _measures(draw: st.DrawFn, file: Cluster) -> None:
    """A balance of any measures, as tight or as lopsided as it may be."""
    tolerance = st.sampled_from(["0.001%", "5%", "10%", "30%", "30%"])
    found = parts(
        draw,
        {
            **dict.fromkeys(
                ("replicas", "bytes", "bytesIn", "bytesOut", "leaders", "logDirs"), tolerance
            ),
            "maxReplicasPerBroker": st.integers(1, 60),
            "required": st.booleans(),
            "weights": st.dictionaries(
                st.sampled_from(["1", "2", "3", "7"]),
                st.sampled_from([0.001, 0.73, 1.05, 2, 1000]),
                max_size=3,
            ),
        },
    )
    if "leaders" in found and draw(st.booleans()):
        found["by"] = draw(st.sampled_from(["count", "bytes", "bytesIn"]))
    file["balance"] = found or {"replicas": "5%"}


def _limited(draw: st.DrawFn, file: Cluster) -> None:
    file["limits"] = draw(some_limits()) | draw(st.sampled_from([{}, {"stage": True}]))


def _required(draw: st.DrawFn, file: Cluster) -> None:
    least: st.SearchStrategy[Cluster]
    least = st.sampled_from([{"racks": 2}, {"racks": 3}, {"replicationFactor": 2}, {"racks": 4}])
    patterns = st.sampled_from(["*", "metrics-*", "clicks", "[a-e]*"])
    entries = draw(st.dictionaries(patterns, least, min_size=1, max_size=2))
    if "*" in entries and draw(st.booleans()):
        entries["*"] = {**entries["*"], "except": ["pay.*", "events"]}
    file["require"] = entries


def _ruled(draw: st.DrawFn, file: Cluster) -> None:
    """More entries by rule, of which several match a topic."""
    names = st.sampled_from(["pay.*", "pay.eu", "[pm]*", "?licks", "__consumer_offsets", "*"])
    for name in draw(st.lists(names, unique=True, min_size=1, max_size=3)):
        file["assignments"][name] = rule(draw)
        if draw(st.integers(0, 3)) == 0:
            file["assignments"][name]["partitionCount"] = draw(st.integers(1, 30))


def _led_by(draw: st.DrawFn, file: Cluster) -> None:
    leaders = st.sampled_from([{"racks": ["c", "a"]}, {"balanced": True}])
    file["preferredLeaders"] = draw(
        st.dictionaries(st.sampled_from(["*", "metrics-*", "pay.*"]), leaders, min_size=1)
    )
    if "*" in file["preferredLeaders"] and draw(st.booleans()):
        file["preferredLeaders"]["*"]["except"] = ["clicks", "p*"]
    if draw(st.booleans()):
        file["lastLeaders"] = draw(st.sampled_from([[1], [{"rack": "a"}, 2], [3, {"rack": "d"}]]))


def _listed(draw: st.DrawFn, file: Cluster) -> None:
    """Blacklists of brokers that the cluster may not have, by rack, of some topics, and such that end."""
    entry = {"reason": "x"}
    ids = st.integers(1, 12)
    leaders: dict[int, Any] = {
        broker: {"broker": broker, **entry}
        | parts(
            draw,
            {
                "topics": st.sampled_from([["clicks"], ["metrics-*", "nope"]]),
                "move": st.sampled_from(["now", "later"]),
                "until": st.just("caught-up"),
            },
        )
        for broker in draw(st.lists(ids, unique=True, max_size=3))
    }
    racks = st.lists(st.sampled_from("abd"), unique=True, max_size=1)
    file["blacklists"] = {
        "leaders": [*leaders.values(), *({"rack": r, **entry} for r in draw(racks))],
        "replicas": [
            *({"broker": b, **entry} for b in draw(st.lists(ids, unique=True, max_size=3))),
            *({"rack": r, **entry} for r in draw(racks)),
        ],
    }


def _recovered(draw: st.DrawFn, file: Cluster) -> None:
    strategies = st.sampled_from(["none", "balanced", "aggressive"])
    entry: Cluster = {"strategy": draw(strategies)} | draw(st.sampled_from([{}, {"wait": "1h"}]))
    file["recovery"] = {"*": {**entry, "except": ["clicks"]}, "pay.*": {"strategy": "none"}}
    file["throttles"] = {"moves": {"rate": "1MB/s", "keep": True}}
    file["reconcile"] = {"putRight": {"brokerDown": "30m", "logDirFull": {"for": "15m"}}}


def _several(draw: st.DrawFn, file: Cluster) -> None:
    """Several balances at once, in the order of their author, of whom some are required."""
    tolerance = st.sampled_from(["0.5%", "5%", "10%", "25%", "60%"])
    by = st.sampled_from([{}, {"by": "count"}, {"by": "bytes"}, {"by": "bytesIn"}])
    measures: Cluster = {
        "maxReplicasPerBroker": {"maxReplicasPerBroker": draw(st.integers(1, 40))},
        "leaders": {"leaders": draw(tolerance), **draw(by)},
        **{
            key: {key: draw(tolerance)}
            for key in ("replicas", "bytes", "bytesIn", "bytesOut", "logDirs")
        },
    }
    names = draw(st.lists(st.sampled_from(sorted(measures)), unique=True, min_size=2, max_size=4))
    entries = [dict(measures[name]) for name in names]
    if draw(st.integers(0, 3)) == 0:
        entries[0]["required"] = True
    if draw(st.integers(0, 3)) == 0:
        entries[-1]["weights"] = {"1": draw(st.sampled_from([0.73, 2])), "4": 1.5}
    file["balance"] = (
        entries if draw(st.integers(0, 2)) else {k: v for e in entries for k, v in e.items()}
    )


def _in_sets(draw: st.DrawFn, file: Cluster) -> None:
    """Sets of brokers with topics of their own, by ids or by racks, that meet, lie apart or are hardly large enough."""
    sets: list[Any] = draw(
        st.sampled_from(
            [
                [["1-3"], ["4-12"]],
                [["1-4"], ["3-12"]],
                [{"racks": ["a", "d"]}, {"racks": ["b", "c"]}],
                [{"racks": ["b"]}, {"racks": ["a", "c"], "ids": ["1-9"]}],
            ]
        )
    )
    for name, among in zip(
        draw(st.permutations(["clicks", "metrics-*", "pay.*"])), sets, strict=False
    ):
        found = {"brokers": among, "spread": draw(st.sampled_from(["rack", "none", "in-rack"]))}
        found |= draw(st.sampled_from([{}, {"replicationFactor": 1}, {"replicationFactor": 2}]))
        if draw(st.booleans()):
            found["maxReplicasPerBroker"] = draw(st.integers(1, 6))
        file["assignments"][name] = found
    if draw(st.booleans()):
        numbers = st.dictionaries(
            st.sampled_from("abcd"), st.integers(1, 2), min_size=1, max_size=3
        )
        file["assignments"]["events"] = {"replicasPerRack": draw(numbers)}


def _apart(draw: st.DrawFn, file: Cluster) -> None:
    file["apart"] = draw(
        st.sampled_from(
            [
                [["clicks", "pay.*"]],
                [["clicks", "events", "orders"]],
                [["metrics-a", "pay.*"], ["clicks", "events"]],
            ]
        )
    )


def _listed_by_rack(draw: st.DrawFn, file: Cluster) -> None:
    """Leaders nowhere in a rack, and replicas that stand last there or on some brokers."""
    topics = draw(st.sampled_from([{}, {"topics": ["clicks"]}, {"topics": ["pay.*", "m*"]}]))
    entry = {"rack": draw(st.sampled_from("abcd")), "reason": "x", **topics}
    file["blacklists"] = {**file.get("blacklists", {}), "leaders": [entry]}
    last = st.sampled_from([1, 2, {"rack": "a"}, {"rack": "b"}, {"rack": "d"}])
    file["lastLeaders"] = draw(st.lists(last, unique_by=str, min_size=1, max_size=3))


def _in_stages(draw: st.DrawFn, file: Cluster) -> None:
    file["limits"] = draw(some_limits()) | {"stage": True}


Change = Callable[[st.DrawFn, Cluster], None]
FILES: tuple[Change, ...] = (
    *(_measures, _limited, _required, _ruled, _led_by, _listed, _recovered),
    *(_several, _in_sets, _apart, _listed_by_rack, _in_stages),
)


def _fenced(draw: st.DrawFn, cluster: Cluster) -> None:
    for broker in draw(st.lists(st.sampled_from(cluster["brokers"]), max_size=3)):
        broker["fenced"] = True


def _cordoned(draw: st.DrawFn, cluster: Cluster) -> None:
    for broker in draw(st.lists(st.sampled_from(cluster["brokers"]), max_size=3)):
        broker["cordoned"] = True


def _down_without_rack(draw: st.DrawFn, cluster: Cluster) -> None:
    """Down, and nobody says of which rack: as Kafka has it before 4.1."""
    by_id = sorted(cluster["brokers"], key=lambda broker: str(broker["rack"]))
    for broker in draw(st.lists(st.sampled_from(by_id), min_size=1, max_size=4)):
        broker["fenced"], broker["rack"] = True, None


def _without_rack(draw: st.DrawFn, cluster: Cluster) -> None:
    for broker in draw(st.lists(st.sampled_from(cluster["brokers"]), max_size=4)):
        broker["rack"] = None


def _gone(draw: st.DrawFn, cluster: Cluster) -> None:
    """Not registered any more."""
    cluster["brokers"].remove(draw(st.sampled_from(cluster["brokers"])))


def _crowded(draw: st.DrawFn, cluster: Cluster) -> None:
    """Little room in some directories."""
    for broker in cluster["brokers"]:
        for found in broker["logDirs"]:
            if draw(st.booleans()):
                found["totalBytes"] = 400_000_000
                found["usableBytes"] = draw(st.sampled_from([0, 45_000_000, 80_000_000]))


def _broken_dir(draw: st.DrawFn, cluster: Cluster) -> None:
    broker = draw(st.sampled_from(cluster["brokers"]))
    broker["logDirs"][draw(st.integers(0, 1))] = {"path": "/d3", "error": "KAFKA_STORAGE_ERROR"}


def _half_way(draw: st.DrawFn, cluster: Cluster) -> None:
    """What another tool moves."""
    for partition in _some(draw, cluster):
        listed = partition["replicas"]
        more = [b["id"] for b in cluster["brokers"] if b["id"] not in listed][:1]
        partition["isr"] = list(listed)
        if draw(st.booleans()) and len(listed) > 1:
            partition["removing"] = listed[-1:]
        partition["replicas"] = [*listed, *more]
        partition["adding"] = more


def _behind(draw: st.DrawFn, cluster: Cluster) -> None:
    for partition in _some(draw, cluster):
        partition["isr"] = partition["replicas"][: draw(st.integers(1, 2))]


def _elections(draw: st.DrawFn, cluster: Cluster) -> None:
    for topic in cluster["topics"]:
        topic["uncleanLeaderElection"] = draw(st.booleans())
        topic["minInsyncReplicas"] = draw(st.integers(1, 3))


def _unknown_size(draw: st.DrawFn, cluster: Cluster) -> None:
    for partition in _some(draw, cluster):
        del partition["bytes"]


ILLS: tuple[Change, ...] = (
    *(_fenced, _cordoned, _without_rack, _gone, _crowded, _broken_dir, _half_way, _behind),
    *(_elections, _unknown_size, _down_without_rack),
)
HEALTHY = {_fenced, _cordoned, _without_rack, _down_without_rack}
"""Beside these, what is planned can be thought to its end."""


def _some(draw: st.DrawFn, cluster: Cluster) -> list[Cluster]:
    every = [p for topic in cluster["topics"] for p in topic["partitions"] if "bytes" in p]
    if not every:
        return []
    chosen = draw(st.lists(st.integers(0, len(every) - 1), unique=True, max_size=4))
    return [every[n] for n in chosen]


def _led(cluster: Cluster) -> None:
    """Who is down is not in sync and leads nothing."""
    live = {b["id"] for b in cluster["brokers"] if not b.get("fenced")}
    for topic in cluster["topics"]:
        for partition in topic["partitions"]:
            known = partition.get("isr", partition["replicas"])
            found = [b for b in known if b in live]
            if found != partition["replicas"]:
                partition["isr"] = found or known[:1]
                partition["leader"] = found[0] if found else None


def ended(world: World, lists: dict[tuple[str, int], tuple[list[int], int | None]]) -> World:
    """The cluster once the partitions have these lists and leaders; who is live has caught up."""
    cluster = copy.deepcopy(world.cluster)
    topics = {topic["name"]: topic["partitions"] for topic in cluster["topics"]}
    live = {b["id"] for b in cluster["brokers"] if not b.get("fenced")}
    for (topic, number), (listed, leader) in sorted(lists.items()):
        rows = topics[topic]
        if number == len(rows):
            rows.append({"bytes": 0})
        rows[number].update(
            replicas=listed, isr=[b for b in listed if b in live] or listed[:1], leader=leader
        )
    for broker in cluster["brokers"]:
        first, second = broker["logDirs"]
        lies = {
            name: [n for n, one in enumerate(rows) if broker["id"] in one["replicas"]]
            for name, rows in topics.items()
        }
        stay = {
            name: [n for n in numbers if n in lies.get(name, ())]
            for name, numbers in first.get("replicas", {}).items()
        }
        rest = {
            name: [n for n in numbers if n not in stay.get(name, ())]
            for name, numbers in lies.items()
        }
        for found, held in ((first, stay), (second, rest)):
            found["replicas"] = {name: numbers for name, numbers in held.items() if numbers}
            found["logs"] = sum(map(len, found["replicas"].values()))
    return World(cluster, world.file)
