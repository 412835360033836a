"""What an application keeps when it ends: from where to where it has moved, so that a way back can be planned.

A move record is a few hundred bytes; a hundred thousand of them in each of ten ended applications would make every
reading of the journal slow. So they are kept compressed, in chunks, and read by nobody but `cancel` and `rollback`.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Application, OriginalsChunk
from replan.errors import BadFile, BadUsage, Held
from replan.model.configs import SettingName
from replan.model.declared.placement import MoveThrottle
from replan.model.names import Replicas, TopicId, TopicPartition
from replan.planning.making.way_back import WayBack
from replan.planning.plans.origins import Grown, Origin
from replan.planning.plans.reasons import WarningKind
from replan.planning.plans.standing_throttles import ThrottleSetting

F = TypeVar("F", bound=msgspec.Struct)


class PackedTopic(msgspec.Struct, frozen=True, array_like=True):
    """The partitions of one topic: number, original, target, done, led by the first of the original."""

    name: str
    id: str
    partitions: list[tuple[int, Replicas, Replicas, bool, bool]]


class Originals(msgspec.Struct, frozen=True):
    """All that is kept of one application."""

    topics: list[PackedTopic]
    grown: list[Grown] = []
    settings: list[ThrottleSetting] = []
    """Throttles that were set to stay."""
    throttle: MoveThrottle | None = None
    within: list[str] = []
    """Partitions with replicas that went to other log directories of their brokers: they stay there."""
    recovered: list[str] = []
    """Partitions that were led again by an election: that stays."""

    def origins(self) -> list[Origin]:
        """One value for each partition."""
        return [
            Origin(TopicPartition(t.name, number), TopicId(t.id), was, became, done=done, led=led)
            for t in self.topics
            for number, was, became, done, led in t.partitions
        ]


STAYS = {"within": WarningKind.LOG_DIRS_STAY, "recovered": WarningKind.RECOVERIES_STAY}
"""What does not go back, with what a plan back says of it."""


class _Settings(msgspec.Struct, frozen=True):
    """The throttles that were set to stay: the rest of what is kept is not made into values."""

    settings: list[ThrottleSetting] = []


def standing_settings(ledger: Ledger) -> dict[SettingName, str | None]:
    """The throttle settings that ended applications have set to stay, as the last of them did, where that is kept."""
    settings = dict[SettingName, str | None]()
    for application in ledger.records.values():
        if isinstance(application, Application):
            kept = _unpacked(ledger, application, _Settings)
            settings |= {} if kept is None else {s.setting: s.after for s in kept.settings}
    return settings


def compressed(value: Any) -> str:
    """A value as text that takes little room in a record."""
    return base64.b85encode(zlib.compress(msgspec.json.encode(value))).decode()


def decompressed(text: str, form: type[F]) -> F:
    """Read it again; raises ValueError where it is none."""
    try:
        return msgspec.json.decode(zlib.decompress(base64.b85decode(text)), type=form)
    except (msgspec.MsgspecError, zlib.error) as problem:
        raise ValueError(str(problem)) from problem


def packed(application: str, kept: Originals) -> list[OriginalsChunk]:
    """The records that keep it."""
    return OriginalsChunk.of(application, compressed(kept))


def unpacked(ledger: Ledger, application: Application) -> Originals | None:
    """What is kept of an application; None where it is not kept any more. Raises BadFile where it cannot be read."""
    return _unpacked(ledger, application, Originals)


def _unpacked(ledger: Ledger, application: Application, form: type[F]) -> F | None:
    text = ledger.text_of(OriginalsChunk, application.id)
    if not text:
        return None
    try:
        return decompressed(text, form)
    except ValueError as problem:
        raise BadFile(f"journal, originals of application {application.id}: {problem}") from problem


def taken_back(ledger: Ledger, application: Application) -> Originals:
    """Of an application that takes another one back: what is kept of that one."""
    taken = ledger.kept_application(application.takes_back)
    kept = None if taken is None else unpacked(ledger, taken)
    return Originals([]) if kept is None else kept


def before(ledger: Ledger, to: str | None) -> WayBack:
    """The way back to what was there before application `to`, or before the last one, with the throttle of the latest.

    An application that has taken another one back belongs to that one. Raises Held where one is open, BadUsage where
    `to` is not known or not kept any more.
    """
    if ledger.application is not None:
        raise Held(
            f"application {ledger.application.id} of {ledger.application.owner} is open; let it end first: "
            "`replan resume` goes on with it, `replan cancel` takes back what it has not finished"
        )
    applications = [
        r for r in ledger.records.values() if isinstance(r, Application) and not r.takes_back
    ]
    kept = [(a, originals) for a in applications if (originals := unpacked(ledger, a)) is not None]
    reachable = kept[len(kept) - _unbroken(applications, kept) :]
    wanted = [at for at, (a, _) in enumerate(reachable) if to in {None, a.id}]
    if not wanted:
        listed = ", ".join(a.id for a, _ in reachable)
        keeps = f"; it keeps: {listed}" if listed else ""
        what = "no application" if to is None else f"no application {to}"
        raise BadUsage(
            f"the journal knows {what} to go back over{keeps}\n`replan journal show` lists all"
        )
    over = reachable[wanted[-1] :]
    origins = dict[tuple[TopicPartition, TopicId], Origin]()
    settings = dict[SettingName, tuple[str | None, str | None]]()
    for _, originals in over:
        for later in originals.origins():
            first = origins.setdefault((later.partition, later.topic_id), later)
            origins[later.partition, later.topic_id] = replace(
                first, target=later.target, done=later.done
            )
        for after in originals.settings:
            before, _ = settings.get(after.setting, (after.before, None))
            settings[after.setting] = before, after.after
    return WayBack(
        application=over[0][0].id,
        origins=list(origins.values()),
        grown=tuple(g for _, originals in over for g in originals.grown),
        settings=tuple(ThrottleSetting.of(s, b, a) for s, (b, a) in settings.items() if b != a),
        throttle=over[-1][1].throttle,
        stays={
            warning: list(dict.fromkeys(name for _, kept in over for name in getattr(kept, of)))
            for of, warning in STAYS.items()
        },
    )


def _unbroken(
    applications: Sequence[Application], kept: Sequence[tuple[Application, Originals]]
) -> int:
    """How many of the last applications are kept without a gap: nothing leads back over one that is not."""
    ids = {a.id for a, _ in kept}
    return next(
        (n for n, a in enumerate(reversed(applications)) if a.id not in ids), len(applications)
    )
