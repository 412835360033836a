"""What an application keeps when it ends: from where to where it has moved, so that a way back can be planned.

A move record is a few hundred bytes; a hundred thousand of them in each of ten ended applications would make every
reading of the journal slow. So they are kept compressed, in chunks, and read by nobody but `cancel` and `rollback`.
"""

import base64
import zlib
from collections.abc import Iterable

import msgspec

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Application, OriginalsChunk, Status
from replan.errors import BadFile
from replan.model.names import Replicas, TopicId, TopicPartition
from replan.model.placement import MoveThrottle
from replan.planning.origins import Grown, Origin
from replan.planning.plan import Plan

CHUNK_CHARACTERS = 225_000
"""At most 900 kB in UTF-8, within Kafka's default max.message.bytes."""


class Topic(msgspec.Struct, frozen=True, array_like=True):
    """The partitions of one topic: number, original, target, done, led by the first of the original."""

    name: str
    id: str
    partitions: list[tuple[int, Replicas, Replicas, bool, bool]]


class Originals(msgspec.Struct, frozen=True):
    """All that is kept of one application."""

    topics: list[Topic]
    grown: list[Grown] = []
    throttle: MoveThrottle | None = None

    def origins(self) -> list[Origin]:
        """One value for each partition."""
        return [
            Origin(TopicPartition(t.name, number), TopicId(t.id), was, became, done=done, led=led)
            for t in self.topics
            for number, was, became, done, led in t.partitions
        ]


def originals_of(ledger: Ledger, plan: Plan | None) -> Originals:
    """What the open application has touched; `plan`: its plan, where this release can read it."""
    led = (
        {} if plan is None else {m.partition: m.leader in {None, m.original[0]} for m in plan.moves}
    )
    topics = dict[tuple[str, str], Topic]()
    for name, own in sorted(ledger.owned.items()):
        if own.asked is None:
            continue
        topic = topics.setdefault((name.topic, own.topic_id), Topic(name.topic, own.topic_id, []))
        done = own.status is Status.DONE
        topic.partitions.append(
            (name.partition, own.original, own.target, done, led.get(name, True))
        )
    creates = {} if plan is None else {c.topic: c for c in plan.creates}
    grown = [
        Grown(c.topic, creates[c.topic].present if c.topic in creates else 0, c.count)
        for c in ledger.creates.values()
        if c.status in {Status.OPEN, Status.DONE}
    ]
    return Originals(list(topics.values()), grown, None if plan is None else plan.throttle)


def packed(application: str, kept: Originals) -> list[OriginalsChunk]:
    """The records that keep it; none where nothing was touched."""
    if not kept.topics and not kept.grown:
        return []
    text = base64.b64encode(zlib.compress(msgspec.json.encode(kept))).decode()
    return [
        OriginalsChunk(application, number, text[start : start + CHUNK_CHARACTERS])
        for number, start in enumerate(range(0, len(text), CHUNK_CHARACTERS))
    ]


def unpacked(ledger: Ledger, application: Application) -> Originals | None:
    """What is kept of an application; None where it is not kept any more. Raises BadFile where it cannot be read."""
    chunks = [
        r
        for r in ledger.records.values()
        if isinstance(r, OriginalsChunk) and r.application == application.id
    ]
    if not chunks:
        return None
    text = "".join(c.text for c in sorted(chunks, key=lambda c: c.index))
    try:
        return msgspec.json.decode(zlib.decompress(base64.b64decode(text)), type=Originals)
    except (ValueError, zlib.error, msgspec.DecodeError) as problem:
        raise BadFile(f"journal, originals of application {application.id}: {problem}") from problem


def finished_before(ledger: Ledger, application: Application) -> list[TopicPartition]:
    """Of an application that takes another one back: what that one had finished."""
    known = ledger.records.get(f"app/{application.takes_back}")
    kept = unpacked(ledger, known) if isinstance(known, Application) else None
    return [] if kept is None else [o.partition for o in kept.origins() if o.done]


def latest_first(applications: Iterable[Application]) -> list[Application]:
    """Ended applications that a rollback can go back over: one that takes another one back belongs to that one."""
    return [a for a in reversed(list(applications)) if not a.takes_back]
