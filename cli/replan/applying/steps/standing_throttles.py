"""What to do about the throttle settings that are to stay: ask for them, wait, or an end. Pure.

A setting is done when its place shows the wanted value and no earlier request to that place can still arrive. It is
asked for only from the value that it had when planned. The same SET twice changes nothing, so a request without an
answer is sent again, and while one may arrive nothing is concluded. While moves have a value of their own there (it is
saved in the journal), a setting waits until that is restored. While it is on its way, the copies that set throttles
there wait for it (`first_of`).

While the application is cancelled (`cancelling`), none is asked for. One that was is done if it has arrived, and
cancelled where its place is as before once no request may reach it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from replan.applying.journal.ledger import Ledger, unended
from replan.applying.journal.steps import StandingRecord, Status
from replan.applying.observation import Refused, believed, held_since
from replan.applying.partitions.judge import End, Hold, rejected
from replan.applying.reasons.ends import OtherValue, StaysUnset, SubjectGone
from replan.applying.reasons.holds import Cancelling, SettingInUse, SettingUnread, SettingUnseen
from replan.applying.reasons.reason import EndReason, HoldReason
from replan.applying.steps.creating import Ask
from replan.applying.steps.rechecking import rechecked
from replan.applying.tick_input import Job, TickInput
from replan.model.configs import ConfigChange, ConfigScope, SettingName, override_of, own_value
from replan.model.control_plane import Look, Rejected
from replan.model.names import BrokerId
from replan.planning.plans.moves import Move
from replan.planning.plans.standing_throttles import ThrottleSetting

Place = tuple[ConfigScope, str]
"""A topic or a broker."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a process knows of them from tick to tick."""

    refused: Mapping[Place, Refused] = field(default_factory=dict)
    suspected: Mapping[tuple[SettingName, EndReason], float] = field(default_factory=dict)
    """What looks have suggested so far, and since when."""


@dataclass(slots=True)
class StandingTick:
    """What one tick decides of them."""

    records: list[StandingRecord] = field(default_factory=list)
    changes: list[ConfigChange] = field(default_factory=list)
    holds: dict[SettingName, HoldReason] = field(default_factory=dict)
    suspected: Mapping[tuple[SettingName, EndReason], float] = field(default_factory=dict)
    first: dict[Place, SettingName] = field(default_factory=dict)
    """What is to be set before a copy sets anything there."""


def pending(job: Job, ledger: Ledger) -> list[ThrottleSetting]:
    """Those that have not ended."""
    return [wanted for wanted in job.plan.standing if unended(ledger.standing.get(wanted.setting))]


def standing_places(job: Job, ledger: Ledger) -> set[Place]:
    """The topics and brokers whose throttles are still to be set for good."""
    return {(s.setting.scope, s.setting.name) for s in pending(job, ledger)}


def standing_tick(
    tick: TickInput,
    ledger: Ledger,
    known: Standing,
    arriving: Iterable[Place],
    closed: HoldReason | None,
) -> StandingTick:
    """Decide for each that has not ended; `closed`: why nothing is to be asked for now, if so.

    `arriving`: places that an earlier request may still reach.
    """
    found, late = StandingTick(), frozenset(arriving)
    agreeing: list[tuple[SettingName, EndReason]] = []
    for wanted in pending(tick.job, ledger):
        name = wanted.setting
        refusal = believed(known.refused.get(_place(wanted)), tick.settings.agreeing_seconds)
        verdict = judge_setting(wanted, tick.seen, ledger, refusal, late)
        if isinstance(verdict, Ask) and isinstance(closed, Cancelling) and name in ledger.standing:
            stays = End(Status.CANCELLED, StaysUnset(wanted.before))
            verdict = Hold(SettingUnseen()) if _place(wanted) in late else stays
        verdict = rechecked(verdict, name, tick, known.suspected, agreeing)
        _take(wanted, verdict, ledger, found, closed)
    found.suspected = held_since(known.suspected, agreeing, tick.ended)
    return found


def _take(
    wanted: ThrottleSetting,
    verdict: Ask | Hold | End,
    ledger: Ledger,
    into: StandingTick,
    closed: HoldReason | None,
) -> None:
    name = wanted.setting
    match verdict:
        case Hold(reason):
            into.holds[name] = reason
        case Ask() if closed is not None:
            into.holds[name] = closed
        case Ask():
            into.holds[name] = SettingUnseen()
            into.changes.append(wanted.change)
            if name not in ledger.standing:
                into.records.append(_record(name, ledger, Status.OPEN))
        case End(status, reason):
            message = "" if reason is None else reason.of(name)
            into.records.append(_record(name, ledger, status, message))
    if into.holds.get(name) == SettingUnseen():
        into.first[name.scope, name.name] = name


def judge_setting(
    wanted: ThrottleSetting,
    seen: Look,
    ledger: Ledger,
    refusal: Rejected | None,
    arriving: Collection[Place],
) -> Ask | Hold | End:
    """What one look says of one setting; that it is stale, a later look must agree with. `refusal`: a believed one."""
    verdict = _judged(wanted, seen, ledger, refusal)
    late = isinstance(verdict, End) and _place(wanted) in arriving
    return Hold(SettingUnseen()) if late else verdict


def _place(wanted: ThrottleSetting) -> Place:
    return wanted.setting.scope, wanted.setting.name


def _judged(
    wanted: ThrottleSetting, seen: Look, ledger: Ledger, refusal: Rejected | None
) -> Ask | Hold | End:
    name = wanted.setting
    found = _look_up(seen, name)
    if not found.readable:
        return Hold(SettingUnread()) if found.exists else End(Status.STALE, SubjectGone())
    if _in_use(name, ledger):
        return Hold(SettingInUse())
    if wanted.is_after(found.value):
        return End(Status.DONE)
    if not wanted.is_before(found.value):
        return End(Status.STALE, OtherValue(wanted.before, found.value))
    return rejected(refusal) if refusal is not None and name in ledger.standing else Ask()


def first_of(move: Move, first: Mapping[Place, SettingName]) -> SettingName | None:
    """The setting that a copy waits for: of its topic, or of a broker that it loads."""
    places = [(ConfigScope.TOPIC, move.partition.topic)]
    places += [(ConfigScope.BROKER, str(b)) for b in (*move.original, *move.new)]
    return next((first[place] for place in places if place in first), None)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a look shows of a setting."""

    exists: bool
    """Its topic or broker."""
    readable: bool
    value: str | None = None


def _look_up(seen: Look, name: SettingName) -> _Found:
    if name.scope is ConfigScope.TOPIC:
        settings = seen.topics.get(name.name)
        if settings is None:
            return _Found(exists=name.name in seen.forbidden, readable=False)
        return _Found(exists=True, readable=True, value=override_of(settings, name.key))
    broker = BrokerId(int(name.name))
    configs = seen.rates.get(broker)
    if configs is None:
        return _Found(exists=broker in seen.brokers, readable=False)
    return _Found(exists=True, readable=True, value=own_value(configs, name.key))


def is_set(wanted: ThrottleSetting, seen: Look) -> bool:
    """Whether a look shows the wanted value."""
    found = _look_up(seen, wanted.setting)
    return found.readable and wanted.is_after(found.value)


def _in_use(name: SettingName, ledger: Ledger) -> bool:
    if name.scope is ConfigScope.TOPIC:
        return (name.name, name.key) in ledger.entries
    return (BrokerId(int(name.name)), name.key) in ledger.rates


def _record(name: SettingName, ledger: Ledger, status: Status, message: str = "") -> StandingRecord:
    return StandingRecord(ledger.application_id, name.scope, name.name, name.key, status, message)
