"""What to do about the throttle settings that are to stay: ask for them, wait, or an end. Pure.

A setting is done when its place shows the wanted value and no earlier request to that place can still arrive. It is
asked for only from the value that it had when planned. The same SET twice changes nothing, so a request without an
answer is sent again, and while one may arrive nothing is concluded. While moves have a value of their own there (it is
saved in the journal), a setting waits until that is restored. While it is on its way, the copies that set throttles
there wait for it (`first_setting_of`).

While the application is cancelled, none is asked for. One that was is done if it has arrived, and
cancelled where its place is as before once no request may reach it.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, RequestSubject, unended
from replan.applying.journal.records import Record, StandingRecord, Status
from replan.applying.observation import Job
from replan.applying.partitions import End, Hold, rejection_end, suspected
from replan.applying.reasons.ends import OtherValue, StaysUnset, SubjectGone
from replan.applying.reasons.holds import SettingInUse, SettingUnread, SettingUnseen
from replan.applying.reasons.reason import HoldReason
from replan.applying.request_memory import RequestMemory
from replan.applying.steps.step import (
    Ask,
    FromRecord,
    Requests,
    StepInput,
    StepKind,
    StepVerdict,
)
from replan.model.configs import (
    ConfigChange,
    ConfigResource,
    ConfigScope,
    SettingName,
    brokers_among,
    override_of,
    own_value,
)
from replan.model.control_plane import Answer, ClusterReader, Look, Wanted
from replan.model.names import BrokerId
from replan.planning.plans.plan import Plan
from replan.planning.plans.standing_throttles import ThrottleSetting


class StandingStep(Struct, FromRecord, frozen=True):
    """A throttle setting that is to stay."""

    wanted: ThrottleSetting
    record: StandingRecord | None = None

    @property
    def subject(self) -> SettingName:
        """The setting."""
        return self.wanted.setting

    def judge(self, given: StepInput) -> StepVerdict:
        """By the value that its place shows; nothing is concluded while an earlier request may change that."""
        verdict = self._judged(given)
        late = not isinstance(verdict, Ask | Hold) and self.subject.resource in given.arriving
        return Hold(SettingUnseen()) if late else verdict

    def judge_cancelled(self, given: StepInput) -> StepVerdict:
        """The same; it is not asked for."""
        verdict = self.judge(given)
        if not isinstance(verdict, Ask):
            return verdict
        if self.subject.resource in given.arriving:
            return Hold(SettingUnseen())
        return suspected(Status.CANCELLED, StaysUnset(self.wanted.before))

    def _judged(self, given: StepInput) -> StepVerdict:
        wanted, name = self.wanted, self.subject
        setting = _look_up(given.tick.look, name)
        if not setting.readable:
            gone = suspected(Status.STALE, SubjectGone())
            return Hold(SettingUnread()) if setting.exists else gone
        if _in_use(name, given.ledger):
            return Hold(SettingInUse())
        if wanted.is_after(setting.value):
            return End(Status.DONE)
        if not wanted.is_before(setting.value):
            return suspected(Status.STALE, OtherValue(wanted.before, setting.value))
        refusal = given.refusal(name)
        if refusal is not None and self.record is not None:
            return rejection_end(refusal)
        return Ask(wanted.change, SettingUnseen())

    def arrival_possible(self, _end: End, _given: StepInput, _seconds: float) -> HoldReason:
        """As `judge` says."""
        return SettingUnseen()

    def begun(self, ledger: Ledger) -> StandingRecord:
        """Of which setting."""
        of = self.subject
        return StandingRecord(ledger.application_id, of.scope, of.name, of.key)


class StandingKind(StepKind[StandingStep]):
    """The kind of step that sets throttles for good."""

    part = "standing"
    record = StandingRecord

    def steps(self, plan: Plan, ledger: Ledger) -> list[StandingStep]:
        """Those of a plan."""
        records = ledger.steps_of(StandingRecord)
        return [StandingStep(wanted, records.get(wanted.setting)) for wanted in plan.standing]

    def reads(self, job: Job, ledger: Ledger, _memory: RequestMemory[RequestSubject]) -> Wanted:
        """The settings of their topics and brokers."""
        places = {step.subject.resource for step in self.pending(job, ledger)}
        topics = {name for scope, name in places if scope is ConfigScope.TOPIC}
        return Wanted(topics=topics, rates_of=brokers_among(places))

    def there(self, plan: Plan, cluster: ClusterReader) -> bool:
        """Whether each place has its value."""
        return all(are_set(plan.standing, cluster).values())

    def requests(self, asks: Mapping[SettingName, ConfigChange]) -> Requests:
        """All in one request; Kafka answers for each topic and broker."""
        yield (
            asks.keys(),
            lambda writer: _by_setting(asks, writer.alter_configs(list(asks.values()))),
        )

    def settled(self, plan: Plan, ledger: Ledger, cluster: ClusterReader) -> list[Record]:
        """Done where the place has the value, and else cancelled."""
        steps = [step for step in self.steps(plan, ledger) if unended(step.record)]
        there = are_set([step.wanted for step in steps if step.record is not None], cluster)
        return [
            replace(step.record, status=Status.DONE if there[step.subject] else Status.CANCELLED)
            for step in steps
            if step.record is not None
        ]

    def stays(self, plan: Plan | None, ledger: Ledger) -> Mapping[str, list[ThrottleSetting]]:
        """Those that were set; what had its value before the application asked for it is not its own."""
        steps = [] if plan is None else self.steps(plan, ledger)
        own = ((step.wanted, step.record) for step in steps if step.record is not None)
        return {"settings": [w for w, r in own if r.asked and r.status is Status.DONE]}


STANDING_THROTTLES = StandingKind()


def _by_setting(
    asks: Iterable[SettingName], answers: Mapping[ConfigResource, Answer]
) -> dict[SettingName, Answer]:
    return {name: answers[of] for name in asks if (of := name.resource) in answers}


def set_first(holds: Mapping[RequestSubject, HoldReason]) -> dict[ConfigResource, SettingName]:
    """What is to be set before a copy sets anything there: what is on its way; `holds`: why settings wait."""
    names = (n for n, why in holds.items() if isinstance(n, SettingName) and why == SettingUnseen())
    return {name.resource: name for name in names}


def first_setting_of(
    topic: str, brokers: Iterable[BrokerId], first: Mapping[ConfigResource, SettingName]
) -> SettingName | None:
    """The setting that a copy waits for: of its topic, or of a broker that it loads."""
    places = [(ConfigScope.TOPIC, topic), *((ConfigScope.BROKER, str(b)) for b in brokers)]
    return next((first[place] for place in places if place in first), None)


class _Found(Struct, frozen=True):
    """What a look shows of a setting."""

    exists: bool
    """Its topic or broker."""
    readable: bool
    value: str | None = None


def _look_up(look: Look, name: SettingName) -> _Found:
    if name.scope is ConfigScope.TOPIC:
        settings = look.topics.get(name.name)
        if settings is None:
            return _Found(exists=name.name in look.forbidden, readable=False)
        return _Found(exists=True, readable=True, value=override_of(settings, name.key))
    broker = BrokerId(int(name.name))
    configs = look.rates.get(broker)
    if configs is None:
        return _Found(exists=broker in look.brokers, readable=False)
    return _Found(exists=True, readable=True, value=own_value(configs, name.key))


def are_set(standing: Iterable[ThrottleSetting], cluster: ClusterReader) -> dict[SettingName, bool]:
    """Whether the cluster shows the wanted value of each."""
    places = {wanted.setting.resource for wanted in standing}
    if not places:
        return {}
    topics = [name for scope, name in places if scope is ConfigScope.TOPIC]
    look = cluster.look(Wanted(topics=sorted(topics), rates_of=sorted(brokers_among(places))))
    settings = {wanted: _look_up(look, wanted.setting) for wanted in standing}
    return {w.setting: f.readable and w.is_after(f.value) for w, f in settings.items()}


def _in_use(name: SettingName, ledger: Ledger) -> bool:
    if name.scope is ConfigScope.TOPIC:
        return (name.name, name.key) in ledger.entries
    return (BrokerId(int(name.name)), name.key) in ledger.rates
