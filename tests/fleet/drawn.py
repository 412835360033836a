"""Drawn clusters at successive moments, with the placement of each, as the files of a fleet; no line of replan.

A cluster lives on from moment to moment: sizes grow and shrink, replicas fall out of sync and come back, reassignments
run, throttles stay behind, a topic or the whole cluster is made again. Its placement declares lists, rules, preferred
leaders, all blacklists, acknowledgements and throttles, and may be another one from some moment on. No balance.
"""

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from random import Random
from typing import Any

import yaml

Document = dict[str, Any]
Name = tuple[str, int]
"""A topic and a partition."""
MOMENTS = (
    "2026-11-20T22:05:00Z",
    "2026-11-21T03:00:00Z",
    "2026-11-21T03:59:00Z",
    "2026-11-21T15:00:00Z",
    "2026-11-22T03:00:00Z",
    "2026-11-24T09:30:00Z",
)
"""Two of them are in one hour: the later one takes the place of the other. The last sees no day of the others."""
PLAIN = ("clicks", "orders", "orders-eu", "__consumer_offsets")
RULED = ("ruled-a", "ruled-b")
DATES = ("2026-11-21", "2026-11-21T03:30:00Z", "2026-11-22T12:00:00+02:00", "2026-12-24")
RATES = ("1MB/s", "20MB/s", "300kB/s")
RATE_KEYS = tuple(f"{side}.replication.throttled.rate" for side in ("leader", "follower"))


class Drawn:
    """One cluster: its snapshot and its placement at each moment."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(f"cluster {seed}")  # noqa: S311 - the same fleet every time
        self.name = f"c{seed}"
        count = self.chance.choice((6, 7, 9))
        self.ids = list(range(1, count + 1))
        self.racks = {b: "abc"[b % 3] for b in self.ids}
        self.topics = [t for t in PLAIN if self.chance.random() < 0.8] or ["orders"]
        self.topics += [t for t in RULED if self.chance.random() < 0.5]
        self.state = self._first()
        self.snapshots: list[Document] = []
        self.placements: list[str] = []
        self.log_ends: list[dict[Name, int]] = []
        self.applications: list[list[Document]] = []
        self.journal = Random(f"journal {seed}")  # noqa: S311
        changes = self.chance.choice((None, 1, 3))
        for at, moment in enumerate(MOMENTS):
            if at:
                self._lives_on()
            self.state["observedAt"] = moment
            self.snapshots.append(deepcopy(self.state))
            new = at in {0, changes}
            self.placements.append(self._placement() if new else self.placements[-1])
            self.log_ends.append(self._log_ends())
            self.applications.append(self._applications(at))

    # --- what a cluster that is asked says beside its snapshot

    def _log_ends(self) -> dict[Name, int]:
        """Of most partitions, a little more than before; or less, where a log was truncated."""
        before = self.log_ends[-1] if self.log_ends else {}
        names = [(t["name"], n) for t in self.state["topics"] for n in range(len(t["partitions"]))]
        grown = {
            name: max(0, before.get(name, 1000) + self.journal.randint(-100, 5000))
            for name in names
        }
        return {name: end for name, end in grown.items() if self.journal.random() < 0.9}

    def _applications(self, at: int) -> list[Document]:
        """All that have ended by now, with the partitions that they have moved: one more at most moments."""
        known = list(self.applications[-1]) if at else []
        now = datetime.fromisoformat(MOMENTS[at])
        for _ in range(self.journal.choice((0, 1, 1, 2))):
            ended = now - timedelta(seconds=self.journal.randint(1, 6 * 3600))
            opened = ended - timedelta(seconds=self.journal.randint(60, 4 * 3600))
            names = [
                (t["name"], n) for t in self.state["topics"] for n in range(len(t["partitions"]))
            ]
            one = {"application": f"{self.name}-{at}-{len(known)}", "owner": "alice@ops-1"}
            moments = {
                "opened_at": f"{opened:%Y-%m-%dT%H:%M:%SZ}",
                "ended_at": f"{ended:%Y-%m-%dT%H:%M:%SZ}",
            }
            moved = self.journal.sample(names, self.journal.randint(1, len(names)))
            of = {"cluster_id": self.state["clusterId"], "plan_digest": f"digest-{len(known)}"}
            known.append({**one, **of, **moments, "moved": moved})
        return known

    def _some(self, chance: float) -> bool:
        return self.chance.random() < chance

    # --- the cluster

    def _first(self) -> Document:
        brokers = [
            {"id": b, "rack": self.racks[b], "fenced": self._some(0.06), "configs": {}}
            for b in self.ids
        ]
        topics: list[Document] = [
            {
                "name": name,
                "id": f"id-of-{name}",
                "minInsyncReplicas": self.chance.choice((1, 2)),
                "throttledReplicas": {},
                "partitions": [self._partition() for _ in range(self.chance.randint(1, 5))],
            }
            for name in sorted(self.topics)
        ]
        found = {
            "formatVersion": 1,
            "kind": "replan.snapshot",
            "clusterId": f"id-{self.name}",
            "observedAt": "",
            "brokers": brokers,
            "topics": topics,
            "silent": [],
        }
        self._lay(found)
        return found

    def _partition(self) -> Document:
        replicas = self.chance.sample(self.ids, self.chance.choice((2, 3, 3)))
        found = {"replicas": replicas, "isr": replicas, "leader": replicas[0]}
        return found | {"adding": [], "removing": [], "bytes": self.chance.randint(0, 10**9)}

    def _lives_on(self) -> None:
        state = self.state
        if self._some(0.05):
            state["clusterId"] += "-again"
        for broker in state["brokers"]:
            broker["fenced"] = self._some(0.06)
            broker["configs"] = {
                key: {"value": self.chance.choice(("1000000", "20000000"))}
                for key in RATE_KEYS
                if self._some(0.06)
            }
        live = [b["id"] for b in state["brokers"] if not b["fenced"]]
        state["silent"] = [b for b in live if self._some(0.04)]
        for topic in state["topics"]:
            if self._some(0.05):
                topic["id"] += "-again"
            if self._some(0.05) and len(topic["partitions"]) < 7:
                topic["partitions"].append(self._partition())
            topic["throttledReplicas"] = {
                side: "*" for side in ("leader", "follower") if self._some(0.1)
            }
            for partition in topic["partitions"]:
                self._changes(partition, live)
        self._lay(state)

    def _changes(self, partition: Document, live: Sequence[int]) -> None:
        size = partition["bytes"]
        partition["bytes"] = self.chance.choice(
            (size, size + self.chance.randint(0, 10**8), size // 2)
        )
        replicas = [b for b in partition["replicas"] if b not in partition["removing"]]
        adding: list[int] = []
        removing: list[int] = []
        if self._some(0.08):
            adding = [self.chance.choice([b for b in self.ids if b not in replicas])]
            removing = [self.chance.choice(replicas)]
            replicas = [b for b in [*adding, *replicas] if b not in removing] + removing
        elif self._some(0.15):
            self.chance.shuffle(replicas)
        elif self._some(0.1):
            replicas[-1] = self.chance.choice([b for b in self.ids if b not in replicas])
        able = [b for b in replicas if b in live and b not in adding]
        isr = [b for b in able if self._some(0.9)]
        leader = self.chance.choice(isr) if isr and self._some(0.2) else (isr or [None])[0]
        partition |= {"replicas": replicas, "adding": adding, "removing": removing}
        partition |= {"isr": isr, "leader": leader}

    def _lay(self, state: Document) -> None:
        """Two directories of each broker, and what lies where."""
        for broker in state["brokers"]:
            dirs: list[Document] = [
                {"path": f"/data/{n}", "totalBytes": 10**13, "usableBytes": 10**12, "replicas": {}}
                for n in (1, 2)
            ]
            for topic in state["topics"]:
                for number, partition in enumerate(topic["partitions"]):
                    if broker["id"] in partition["replicas"]:
                        lying = dirs[(number + broker["id"]) % 2]["replicas"]
                        lying.setdefault(topic["name"], []).append(number)
            answers = not broker["fenced"] and broker["id"] not in state["silent"]
            broker["logDirs"] = dirs if answers else []

    # --- the placement

    def _placement(self) -> str:
        found: Document = {"version": 1, "assignments": {}}
        topics = {t["name"]: t["partitions"] for t in self.state["topics"]}
        for name, partitions in topics.items():
            if name in RULED or self._some(0.35):
                continue
            found["assignments"][name] = {"partitions": self._lists(partitions)}
        if self._some(0.15):
            found["assignments"]["nowhere"] = {"partitions": {0: [1, 2, 3]}}
        if self._some(0.7):
            found["assignments"]["ruled-*"] = self._rule()
        preferred = self._preferred(topics, found["assignments"])
        if preferred:
            found["preferredLeaders"] = preferred
        found["blacklists"] = self._blacklists()
        found["acknowledged"] = [
            {"topic": topic, "reason": "known", "expires": self.chance.choice(DATES)}
            | ({"partitions": [self.chance.randint(0, 3)]} if self._some(0.5) else {})
            for topic in (*topics, "orders-*", "ruled-*")
            if self._some(0.15)
        ]
        found["throttles"] = self._throttles()
        return yaml.safe_dump({k: v for k, v in found.items() if v}, sort_keys=False)

    def _lists(self, partitions: Sequence[Document]) -> Any:
        lists = [self._declared(partition) for partition in partitions]
        if self._some(0.5):
            some = {n: one for n, one in enumerate(lists) if self._some(0.8)}
            return some or {0: lists[0]}
        return lists[:-1] if len(lists) > 1 and self._some(0.2) else lists

    def _declared(self, partition: Document) -> list[int]:
        found = [b for b in partition["replicas"] if b not in partition["removing"]]
        if self._some(0.2):
            found = self.chance.sample(self.ids, 3)
        elif self._some(0.2):
            self.chance.shuffle(found)
        return found

    def _rule(self) -> Document:
        rule: Document = {"replicationFactor": self.chance.choice((2, 3))}
        kind = self.chance.choice(("rack", "none", "rack of its own", "brokers"))
        if kind in {"rack", "none"}:
            rule["spread"] = kind
        elif kind == "brokers":
            rule["brokers"] = sorted(self.chance.sample(self.ids, 5))
        else:
            rule |= {"inRack": "a", "replicationFactor": 2}
        return rule

    def _preferred(self, topics: Document, assignments: Document) -> Document:
        """A member of the list of some partitions."""
        found: Document = {}
        for name, partitions in topics.items():
            if name in RULED or not self._some(0.3):
                continue
            listed = assignments.get(name, {}).get("partitions", {})
            for number, partition in enumerate(partitions):
                members = [b for b in partition["replicas"] if b not in partition["removing"]]
                if name in assignments:
                    there = number < len(listed) if isinstance(listed, list) else number in listed
                    members = listed[number] if there else []
                if members and self._some(0.5):
                    found.setdefault(name, {})[number] = self.chance.choice(members)
        return found if not self._some(0.3) else {}

    def _blacklists(self) -> Document:
        def entry(**more: Any) -> Document:
            dated = {"reviewBy": self.chance.choice(DATES)} if self._some(0.4) else {}
            return {**more, **dated, "reason": "drawn"}

        found: Document = {}
        if self._some(0.5):
            found["leaders"] = [
                entry(broker=b, **self._options()) for b in self.chance.sample(self.ids, 2)
            ]
        if self._some(0.3):
            found["replicas"] = [entry(broker=self.chance.choice(self.ids))]
        if self._some(0.4):
            found["logDirs"] = [entry(broker=self.chance.choice(self.ids), path="/data/1")]
        return found

    def _options(self) -> Document:
        found: Document = {}
        if self._some(0.3):
            found["move"] = "later"
        if self._some(0.3):
            found["until"] = "caught-up"
        if self._some(0.3):
            found["topics"] = ["orders*", "clicks"]
        return found

    def _throttles(self) -> Document:
        found: Document = {}
        if self._some(0.6):
            found["moves"] = {"rate": self.chance.choice(RATES)}
            if self._some(0.4):
                found["moves"]["brokers"] = {
                    1: self.chance.choice(RATES),
                    2: {"leader": self.chance.choice(RATES)},
                }
        if self._some(0.3):
            found["standing"] = {
                "topics": {
                    self.chance.choice(("orders*", "*", "clicks*")): self.chance.choice(("all", {}))
                },
                "brokers": {self.chance.choice(self.ids): {"leader": self.chance.choice(RATES)}},
            }
        return found
