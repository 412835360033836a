"""What replan, its peers and the bound make of the same clusters, side by side.

15 brokers in three racks (16 in four where a rack is drained), 100 topics with 1 to 200 partitions, sizes lognormal
(sigma 2 between topics, 0.5 within), placed as Kafka places them, one in twenty moved at random. Each job is done for
several seeds, and the table has the averages of what replan (the whole planner), the peers (`placing_peers`) and a
linear program (`placing_bound`) make of it:

* bytes, replicas, leaders: the most that a broker has, by the mean;
* least: what bytes would be at the least where as much comes to each rack, and what stays is as it is;
* busiest: of the brokers that get something in one rack, what the busiest gets by their mean; and the worst seed;
* due: the same by their mean or by what it lacks to an even share of its rack's bytes, where that is more;
* kept: in how many seeds the busiest gets at most 1.1 times that mean, or one largest partition more; and with those in
  which who gets more than that holds no more in the end than an even share of its rack's bytes, or that much more;
* possible: the least that the busiest gets in any plan that brings as much to each rack, and leaves no broker with more
  than the fullest of its rack has, nor with less than the emptiest: a linear program, of plans that balance nothing;
* topic: the most that a broker holds of a topic that has as many replicas as there are brokers, by its share.

A second table has the measures in which none of replan's rows of a job is the best. How long the plans take says
`placing_rehearsed`.

    python -m benchmarks.placing                       # all jobs, 20 seeds
    python -m benchmarks.placing 3 "drain one"         # some
    python -m benchmarks.placing --save FILE.jsonl     # a line a seed, and those that it has are not made again
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from benchmarks.placing_bound import bound, bound_of_spread_topics, least_busiest
from benchmarks.placing_peers import Lists
from msgspec import Struct, json
from msgspec.structs import replace
from tests.builders import snapshot, state

from benchmarks import placing_peers as peers
from replan.model.api import Broker, BrokerId, LogDir, Snapshot, TopicId, TopicPartition
from replan.placement_file.api import load_placement
from replan.planning.api import Plan, make_plan
from replan.snapshots.api import derived_topic_id

TOPICS, SEEDS = 100, 20
RULE = 'version: 1\nassignments: {"*": {spread: rack}}\n'
TEN = RULE + "balance: {replicas: 10%, bytes: 10%}\n"


class Job(Struct, frozen=True):
    """One cluster and what is asked of it."""

    name: str
    topics: list[int]
    """Partitions of each."""
    had: Lists
    sizes: list[int]
    every: dict[int, int]
    """All brokers and their racks."""
    may: tuple[dict[int, int], ...]
    """Sets of brokers that hold something at the end, and their racks."""
    asked: dict[str, str]
    """Placement files, by what the table calls them."""
    factor: int = 3
    dead: int = 0
    joined: frozenset[int] = frozenset()
    sets: Sequence[int] = ()
    """The set of each topic; nothing: all are of the first."""
    dirs: tuple[LogDir, ...] = ()
    grown: int = 0
    """Partitions that each third topic has at the end, by those that it has."""

    @property
    def of(self) -> list[int]:
        """The topic of each partition."""
        return np.repeat(np.arange(len(self.topics)), self.topics).tolist()

    @property
    def set_of(self) -> list[int]:
        """The set of each partition."""
        return [self.sets[t] if self.sets else 0 for t in self.of]


def racks(count: int, number: int = 3) -> dict[int, int]:
    """Brokers lie in the racks in turn."""
    return {b: (b - 1) % number for b in range(1, count + 1)}


def without(brokers: dict[int, int], *gone: int) -> dict[int, int]:
    """Some brokers less."""
    return {b: r for b, r in brokers.items() if b not in gone}


def sized(seed: int) -> tuple[list[int], list[int], np.random.Generator]:
    """Topics, the sizes of their partitions, and what else is drawn."""
    chance = np.random.default_rng(seed)
    topics = [int(n) for n in np.minimum(np.ceil(chance.lognormal(2.5, 1.2, TOPICS)), 200)]
    scale = np.repeat(chance.lognormal(0, 2, TOPICS), topics)
    sizes = np.floor(2e9 * scale * chance.lognormal(0, 0.5, len(scale))).astype(np.int64)
    return topics, [int(size) for size in sizes], chance


def drifted(lists: Lists, brokers: dict[int, int], chance: np.random.Generator) -> Lists:
    """One replica of one partition in twenty lies with another broker of its rack."""
    for row in np.flatnonzero(chance.random(len(lists)) < 0.05).tolist():
        place = int(chance.integers(len(lists[row])))
        rack = brokers[lists[row][place]]
        able = [b for b, r in brokers.items() if r == rack and b not in lists[row]]
        if able:
            lists[row][place] = int(chance.choice(able))
    return lists


def jobs(seed: int) -> Iterator[Job]:
    """All jobs of one seed."""
    topics, sizes, chance = sized(seed)
    every = racks(15)

    def lists(brokers: dict[int, int], factor: int = 3) -> Lists:
        return drifted(peers.kafka(topics, brokers, factor, chance), brokers, chance)

    drain = RULE + "blacklists: {replicas: [{broker: 5, reason: x}]}\n"
    yield Job("drain one", topics, lists(every), sizes, every, (without(every, 5),), {"": drain})
    four = racks(16, 4)
    gone = [b for b, rack in four.items() if rack == 3]
    rack = (
        RULE
        + f"blacklists: {{replicas: [{', '.join(f'{{broker: {b}, reason: x}}' for b in gone)}]}}\n"
    )
    yield Job("drain a rack", topics, lists(four), sizes, four, (without(four, *gone),), {"": rack})
    more = {**every, 16: every[5 + 0]}
    yield Job(
        "replace a dead one",
        topics,
        lists(every),
        sizes,
        more,
        (without(more, 5),),
        {"": drain, ", both 10 %": TEN + "blacklists: {replicas: [{broker: 5, reason: x}]}\n"},
        dead=5,
        joined=frozenset({16}),
    )
    yield Job(
        "add to one rack",
        topics,
        lists(without(every, 15)),
        sizes,
        every,
        (every,),
        {", both 10 %": TEN},
        joined=frozenset({15}),
    )
    few = without(every, 13, 14, 15)
    yield Job(
        "add to all",
        topics,
        lists(few),
        sizes,
        every,
        (every,),
        {
            ", replicas 10 %": RULE + "balance: {replicas: 10%}\n",
            ", both 10 %": TEN,
            ", bytes 5 %": RULE + "balance: {bytes: 5%}\n",
        },
        joined=frozenset({13, 14, 15}),
    )
    yield Job(
        "RF 2 to 3",
        topics,
        lists(every, 2),
        sizes,
        every,
        (every,),
        {"": RULE.replace("{spread", "{replicationFactor: 3, spread")},
    )
    yield Job(
        "RF 3 to 2",
        topics,
        lists(every),
        sizes,
        every,
        (every,),
        {"": RULE.replace("{spread", "{replicationFactor: 2, spread")},
        factor=2,
    )
    yield Job(
        "even bytes",
        topics,
        lists(every),
        sizes,
        every,
        (every,),
        {
            ", bytes 10 %": RULE + "balance: {bytes: 10%}\n",
            ", bytes 5 %": RULE + "balance: {bytes: 5%}\n",
        },
    )
    brokers = np.array(sorted(every))
    anywhere = [chance.choice(brokers, 3, replace=False).tolist() for _ in sizes]
    yield Job(
        "repair racks", topics, anywhere, sizes, every, (every,), {"": RULE, ", both 10 %": TEN}
    )
    first, second = ({b: r for b, r in every.items() if (b <= 9) is yes} for yes in (True, False))
    before = without(first, 7, 8, 9)
    mixed = [
        found
        for topic, count in enumerate(topics)
        for found in peers.kafka([count], second if topic % 2 else before, 3, chance)
    ]
    entries = ", ".join(
        f't{topic:04}: {{spread: rack, brokers: ["{"10-15" if topic % 2 else "1-9"}"]}}'
        for topic in range(len(topics))
    )
    yield Job(
        "two broker sets",
        topics,
        mixed,
        sizes,
        every,
        (first, second),
        {
            ", both 10 %": f"version: 1\nassignments: {{{entries}}}\nbalance: {{replicas: 10%, bytes: 10%}}\n"
        },
        joined=frozenset({7, 8, 9}),
        sets=[topic % 2 for topic in range(len(topics))],
    )
    entries = ", ".join(
        f"t{topic:04}: {{partitionCount: {2 * count}, spread: rack}}"
        for topic, count in enumerate(topics)
        if topic % 3 == 0
    )
    yield Job(
        "growth",
        topics,
        lists(few),
        sizes,
        every,
        (every,),
        {"": f"version: 1\nassignments: {{{entries}}}\n"},
        grown=2,
    )
    had = lists(every)
    yield Job(
        "JBOD, drain one",
        topics,
        had,
        sizes,
        every,
        (without(every, 5),),
        {"": drain},
        dirs=directories(topics, had, sizes, every, chance),
    )


def directories(
    topics: list[int],
    had: Lists,
    sizes: list[int],
    every: dict[int, int],
    chance: np.random.Generator,
) -> tuple[LogDir, ...]:
    """Four of each broker, 80 % full on average once one broker of a rack is drained; Kafka placed in random order."""
    logs = {(b, d): 0 for b in every for d in range(4)}
    used = dict.fromkeys(logs, 0)
    held: dict[tuple[int, int], dict[str, list[int]]] = {key: {} for key in logs}
    of = np.repeat(np.arange(len(topics)), topics).tolist()
    number = np.concatenate([np.arange(n) for n in topics]).tolist()
    for row in chance.permutation(len(had)).tolist():
        for broker in had[row]:
            key = min(((broker, d) for d in range(4)), key=lambda k: (logs[k], chance.random()))
            logs[key] += 1
            used[key] += sizes[row]
            held[key].setdefault(f"t{of[row]:04}", []).append(number[row])
    fullest = max(
        sum(size for (b, _), size in used.items() if every[b] == rack) for rack in range(3)
    )
    total = int(fullest / 4 / 4 / 0.8)
    largest = max(used.values())
    total = max(total, int(largest / 0.85))
    return tuple(
        LogDir(
            BrokerId(b),
            f"/d{d}",
            total,
            total - used[b, d],
            logs[b, d],
            replicas={t: tuple(n) for t, n in held[b, d].items()},
        )
        for b, d in logs
    )


def names(job: Job) -> list[TopicPartition]:
    """Of all partitions."""
    return [
        TopicPartition(f"t{topic:04}", number)
        for topic, count in enumerate(job.topics)
        for number in range(count)
    ]


def seen(job: Job) -> Snapshot:
    """The cluster as replan observes it."""
    states = [
        state(
            found,
            [b for b in found if b != job.dead],
            topic=name.topic,
            topic_id=TopicId(derived_topic_id(name.topic)),
            partition=name.partition,
            size=size,
        )
        for name, found, size in zip(names(job), job.had, job.sizes, strict=True)
    ]
    brokers = [Broker(BrokerId(b), "abcd"[r], fenced=b == job.dead) for b, r in job.every.items()]
    return replace(snapshot(states, registered=brokers, min_insync_replicas=1), log_dirs=job.dirs)


def planned(job: Job, asked: str) -> tuple[Plan, float]:
    """The plan that replan makes of a placement file, and CPU seconds."""
    cluster = seen(job)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(asked)
        file.flush()
        placement = load_placement([Path(file.name)])
    start = time.process_time()
    plan = make_plan(placement, cluster)
    return plan, time.process_time() - start


def after(job: Job, plan: Plan) -> tuple[Lists, list[int]]:
    """Lists after a plan, and the topic of each."""
    at = {name: row for row, name in enumerate(names(job))}
    lists, of = [list(found) for found in job.had], job.of
    for move in plan.moves:
        if move.partition in at:
            lists[at[move.partition]] = [int(b) for b in move.target]
    for create in plan.creates:
        lists += [[int(b) for b in found] for found in create.lists]
        of += [int(create.topic[1:])] * len(create.lists)
    return lists, of


class Row(Struct, frozen=True):
    """What one planner made of one job."""

    copies: int
    bytes: float
    evens: tuple[float, ...]
    """Bytes, replicas and leaders of a broker, the most by the mean."""
    busiest: float
    due: float
    topic: float
    least: float
    kept: bool
    even: bool
    """Whether it is kept, or who gets more holds no more than an even share."""
    cpu: float
    unmet: int = 0
    possible: float | None = None


Found = Row | float | None
"""What a planner made, or a bound; None: it was not solved in time."""


def judged(job: Job, lists: Lists, of: list[int], cpu: float, refused: int = 0) -> Row:
    """The measures of the lists that one planner found."""
    brokers = max(job.every) + 1
    had = job.had + [[] for _ in lists[len(job.had) :]]
    sizes = job.sizes + [0] * (len(lists) - len(job.sizes))
    used, got, led = (np.zeros(brokers) for _ in range(3))
    held = np.zeros((len(job.topics), brokers))
    copies = 0
    for topic, before, found, size in zip(of, had, lists, sizes, strict=True):
        led[found[0]] += 1
        for broker in found:
            used[broker] += size
            held[topic, broker] += 1
            if broker not in before:
                got[broker] += size
                copies += bool(before)
    evens, worst, busiest, due, least, kept, even = [], 0.0, 1.0, 1.0, 0.0, True, True
    moved = (
        size
        for before, found, size in zip(had, lists, sizes, strict=True)
        if not set(found) <= set(before)
    )
    largest = max(moved, default=0)
    for number, may in enumerate(job.may):
        on = sorted(may)
        topics = [t for t in range(len(job.topics)) if not job.sets or job.sets[t] == number]
        mine = held[topics][:, on]
        wide = mine[mine.sum(axis=1) >= len(on)]
        worst = max(worst, float((wide / wide.mean(axis=1)[:, None]).max(initial=0)))
        evens.append([float(v[on].max() / v[on].mean()) for v in (used, held.sum(axis=0), led)])
        for rack in set(may.values()):
            of_rack = [b for b, r in may.items() if r == rack]
            stays = used[of_rack] - got[of_rack]
            least = max(least, level(stays, got[of_rack].sum()) / float(used[on].mean()))
            some = np.array([b for b in of_rack if got[b]], dtype=int)
            lacks = used[of_rack].mean() - (used[some] - got[some])
            average = got[some].sum() / max(len(some), 1)
            busiest = max(busiest, float((got[some] / average).max(initial=0)))
            due = max(due, float((got[some] / np.maximum(average, lacks)).max(initial=0)))
            much = some[got[some] > max(1.1 * average, average + largest)]
            kept = kept and not len(much)
            even = even and bool((used[much] <= used[of_rack].mean() + largest).all())
    most = tuple(max(of_sets) for of_sets in zip(*evens, strict=True))
    return Row(copies, float(got.sum()), most, busiest, due, worst, least, kept, even, cpu, refused)


def possible(job: Job, lists: Lists) -> float | None:
    """The least busiest receiver of plans that bring as much to each rack, and leave its brokers as even."""
    [may] = job.may
    used, got = (np.zeros(max(job.every) + 1) for _ in range(2))
    for before, found, size in zip(job.had, lists, job.sizes, strict=True):
        used[found] += size
        got[[b for b in found if b not in before]] += size
    if not got.any():
        return None
    of_racks = [[b for b in may if may[b] == rack] for rack in range(max(may.values()) + 1)]
    comes = [float(got[some].sum()) for some in of_racks]
    means = [
        n / max(int((got[some] > 0).sum()), 1) for n, some in zip(comes, of_racks, strict=True)
    ]
    holds = [(float(used[some].min()), float(used[some].max())) for some in of_racks]
    least = least_busiest(job.had, job.sizes, job.factor, may, comes, means, holds)
    return None if np.isnan(least) else least


def level(has: np.ndarray, comes: float) -> float:
    """What the fullest has once so much has come to those that have least, as if it could be divided."""
    has = np.sort(has)
    levels = (np.cumsum(has) + comes) / np.arange(1, len(has) + 1)
    """The level if the first one, two, ... share it: the right one is the lowest."""
    return float(max(levels.min(), has[-1]))


def by_set(job: Job, plan: str, chance: np.random.Generator) -> Lists:
    """One of the peers, for each set of brokers by itself."""
    found: Lists = [[] for _ in job.had]
    sets = job.set_of
    for number, may in enumerate(job.may):
        rows = [row for row, of in enumerate(sets) if of == number]
        had, sizes = [job.had[r] for r in rows], [job.sizes[r] for r in rows]
        factor = job.factor
        if plan == "Kafka --generate":
            topics = [n for t, n in enumerate(job.topics) if not job.sets or job.sets[t] == number]
            lists = peers.kafka(topics, may, factor, chance)
        elif plan == "Cruise Control":
            of = job.of
            lists = peers.goals(had, sizes, [of[r] for r in rows], may, [factor] * len(rows))
        elif plan == "topicmappr scale":
            lists = peers.scale(had, sizes, may, job.joined & may.keys())
        elif plan == "topicmappr substitute":
            lists = peers.substituted(had, job.dead, min(job.joined))
        else:
            lists = peers.rebuild(had, sizes, may, factor, chance, by=plan.rsplit(maxsplit=1)[-1])
        for row, of_row in zip(rows, lists, strict=True):
            found[row] = of_row
    return found


PEERS = {
    "drain one": ("count", "storage", "goals", "generate"),
    "drain a rack": ("count", "storage", "goals", "generate"),
    "replace a dead one": ("substitute", "count", "goals"),
    "add to one rack": ("scale", "goals", "generate"),
    "add to all": ("scale", "goals", "generate"),
    "RF 2 to 3": ("count", "storage", "goals", "generate"),
    "RF 3 to 2": ("count", "goals", "generate"),
    "even bytes": ("goals",),
    "repair racks": ("goals", "generate"),
    "two broker sets": ("scale", "goals", "generate"),
    "growth": (),
    "JBOD, drain one": ("count", "goals"),
}
NAMES = {
    "count": "topicmappr rebuild, count",
    "storage": "topicmappr rebuild, storage",
    "substitute": "topicmappr substitute",
    "scale": "topicmappr scale",
    "goals": "Cruise Control",
    "generate": "Kafka --generate",
}


def made(job: Job, seed: int) -> Iterator[tuple[str, Found]]:
    """What each planner makes of one job, and the bound of its bytes."""
    for name, asked in job.asked.items():
        plan, took = planned(job, asked)
        lists, of = after(job, plan)
        row = judged(job, lists, of, took, len(plan.refusals))
        if job.grown:  # it copies nothing
            yield f"replan{name}", row
            continue
        tolerances = [
            (measure, float(part.rstrip("%,}")) / 100)
            for measure in ("replicas", "bytes")
            for part in asked.partition(f"{measure}: ")[2].split()[:1]
            if part.endswith(("%,", "%}"))
        ]
        some = not tolerances and len(job.may) == 1
        yield f"replan{name}", replace(row, possible=possible(job, lists) if some else None)
        least = sum(of_set(job, number, tolerances) for number in range(len(job.may)))
        yield f"bound{name}", None if np.isnan(least) else least
        if job.joined and not job.dead and [measure for measure, _ in tolerances] == ["replicas"]:
            count, within = len(job.every), tolerances[0][1]
            yield (
                f"bound{name}, topics spread",
                bound_of_spread_topics(
                    job.sizes, job.of, job.factor, count, len(job.joined), within
                ),
            )
    for peer in PEERS[job.name]:
        chance = np.random.default_rng(seed)
        start = time.process_time()
        lists = by_set(job, NAMES[peer], chance)
        yield NAMES[peer], judged(job, lists, job.of, time.process_time() - start)
    if job.grown:
        chance = np.random.default_rng(seed)
        lists, of = [list(found) for found in job.had], job.of
        for topic, count in enumerate(job.topics):
            if topic % 3 == 0:
                lists += peers.kafka([count], job.every, 3, chance)
                of += [topic] * count
        yield "Kafka, new partitions", judged(job, lists, of, 0)


def of_set(job: Job, number: int, tolerances: Sequence[tuple[str, float]]) -> float:
    """The bound of the partitions of one set of brokers."""
    rows = [row for row, of in enumerate(job.set_of) if of == number]
    had, sizes = [job.had[row] for row in rows], [job.sizes[row] for row in rows]
    return bound(had, sizes, [job.factor] * len(rows), [job.may[number]] * len(rows), tolerances)


def table(results: dict[tuple[str, str], list[Found]]) -> None:
    """Averages over the seeds."""
    columns = (
        "copies, TB, bytes (least), replicas, leaders, busiest (worst), possible, kept (or even), "
        "due (worst), topic, CPU, refused"
    )
    print("| job | by |", " | ".join(columns.split(", ")), "|")
    print("| --- | --- |", " ".join(["---: |"] * 12))
    for (job, by), found in results.items():
        rows = [row for row in found if isinstance(row, Row)]
        if not rows:
            print(f"| {job} | {by} | | {solved(found, 1e12, 3)} |{' |' * 10}")
            continue
        means = [f"{np.mean([r.evens[i] for r in rows]):.2f}" for i in range(3)]
        means[0] += f" ({np.mean([r.least for r in rows]):.2f})"
        evens = " | ".join(means)
        busiest, due = [r.busiest for r in rows], [r.due for r in rows]
        least = [r.possible for r in rows]
        print(
            f"| {job} | {by} | {np.mean([r.copies for r in rows]):,.0f} "
            f"| {np.mean([r.bytes for r in rows]) / 1e12:.3f} | {evens} "
            f"| {np.mean(busiest):.2f} ({max(busiest):.2f}) | {solved(least, 1, 2)} "
            f"| {sum(r.kept for r in rows)} ({sum(r.even for r in rows)}) "
            f"| {np.mean(due):.2f} ({max(due):.2f}) | {np.mean([r.topic for r in rows]):.2f} "
            f"| {np.mean([r.cpu for r in rows]):.2f} | {sum(r.unmet > 0 for r in rows) or ''} |"
        )


def solved(found: Sequence[Found], unit: float, digits: int) -> str:
    """The mean of those that were solved, with their number where some were not."""
    numbers = [n for n in found if isinstance(n, float)]
    if not numbers:
        return ""
    some = "" if len(numbers) == len(found) else f" (of {len(numbers)})"
    return f"{np.mean(numbers) / unit:.{digits}f}{some}"


MEASURES: dict[str, Callable[[Row], float]] = {
    "TB": lambda row: row.bytes / 1e12,
    "bytes": lambda row: row.evens[0],
    "replicas": lambda row: row.evens[1],
    "leaders": lambda row: row.evens[2],
    "busiest": lambda row: row.busiest,
    "due": lambda row: row.due,
    "topic": lambda row: row.topic,
}
"""Of each the least is the best."""


def behind(results: dict[tuple[str, str], list[Found]]) -> None:
    """Where none of replan's rows of a job is the best."""
    print("| job | measure | replan | better | and copies, TB (replan) |")
    print("| --- | --- | ---: | --- | ---: |")
    for job in dict.fromkeys(job for job, _ in results):
        rows = {
            by: [row for row in found if isinstance(row, Row)]
            for (of, by), found in results.items()
            if of == job and isinstance(found[0], Row)
        }
        for name, value in MEASURES.items():
            means = {by: float(np.mean([value(row) for row in of])) for by, of in rows.items()}
            copied = {by: np.mean([row.bytes for row in of]) / 1e12 for by, of in rows.items()}
            mine = min((by for by in rows if by.startswith("replan")), key=lambda by: means[by])
            better = [by for by in rows if round(means[by], 2) < round(means[mine], 2)]
            if better:
                best = min(better, key=lambda by: means[by])
                print(
                    f"| {job} | {name} | {means[mine]:.2f} | {best} {means[best]:.2f} "
                    f"| {copied[best]:.1f} ({copied[mine]:.1f}) |"
                )


Line = tuple[int, list[tuple[str, str, Found]]]
"""A seed, and of each job and planner what it made."""


def of_seed(seed: int, only: Sequence[str]) -> Line:
    """All that is made of the jobs of one seed."""
    return seed, [
        (job.name, by, found)
        for job in jobs(seed)
        if not only or job.name in only
        for by, found in made(job, seed)
    ]


def main(seeds: int, only: Sequence[str], save: Path | None) -> None:
    """Two seeds at a time."""
    text = save.read_bytes().splitlines() if save and save.exists() else []
    lines = [json.decode(line, type=Line) for line in text]
    rest = [seed for seed in range(1, seeds + 1) if seed not in dict(lines)]
    with ProcessPoolExecutor(2) as pool:
        for line in pool.map(of_seed, rest, [only] * len(rest)):
            lines.append(line)
            if save:
                with save.open("ab") as file:
                    file.write(json.encode(line) + b"\n")
            print(f"seed {line[0]}: {len(lines)} of {seeds}", file=sys.stderr, flush=True)
    results: dict[tuple[str, str], list[Found]] = {}
    for _, found in sorted(lines, key=lambda line: line[0]):
        for job, by, row in found:
            results.setdefault((job, by), []).append(row)
    results = {key: results[key] for key in sorted(results, key=_order)}
    table(results)
    print()
    behind(results)


def _order(key: tuple[str, str]) -> int:
    return list(PEERS).index(key[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("seeds", type=int, nargs="?", default=SEEDS)
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    main(given.seeds, given.jobs, given.save)
