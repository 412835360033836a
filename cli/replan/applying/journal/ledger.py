"""What the journal's records mean together: a pure fold, and questions about it.

Invariant: `owned` holds the partitions of the open application and of no other. A journal in which two applications
are open was written by two processes at once; folding it raises Held, and `abandon` ends both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from replan.applying.journal.protocol import latest
from replan.applying.journal.records import (
    Application,
    ApplicationChunk,
    ApplicationStatus,
    Forget,
    Kept,
    MoveRecord,
    Order,
    PlanChunk,
    Record,
    SavedRate,
    SavedReplicaList,
    Status,
    StepRecord,
    order_key,
)
from replan.errors import Held
from replan.model.configs import SettingName
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.snapshot import RememberedOrder

RequestSubject = TopicPartition | SettingName | ReplicaName
"""What such a step is about: of a create the first of the new partitions."""
Prior = SavedReplicaList | SavedRate
"""What was there before a throttle setting that is replan's."""


_S = TypeVar("_S", bound=StepRecord)
_Steps = Mapping[type[Any], Mapping[Any, Any]]


def unended(record: MoveRecord | StepRecord | None) -> bool:
    """Whether a step, by its record, is still to begin or has begun and not ended."""
    return record is None or record.status is Status.OPEN


class Ledger(Struct, frozen=True):
    """All that is written down, as of some record."""

    records: Mapping[str, Kept] = field(default_factory=dict)
    application: Application | None = None
    """The open one."""
    owned: Mapping[TopicPartition, MoveRecord] = field(default_factory=dict)
    open: Mapping[TopicPartition, MoveRecord] = field(default_factory=dict)
    """Those of `owned` that have not ended."""
    given_up: frozenset[TopicPartition] = frozenset()
    """Those of `owned` that have ended in the middle: their copies may still run."""
    done: int = 0
    """How many of `owned` are done."""
    entries: Mapping[tuple[str, str], SavedReplicaList] = field(default_factory=dict)
    """By topic and key."""
    rates: Mapping[tuple[BrokerId, str], SavedRate] = field(default_factory=dict)
    """By broker and key."""
    begun: _Steps = field(default_factory=dict)
    """What the open application does beside moves: by kind, and by what it is about."""

    @property
    def application_id(self) -> str:
        """Of the open one; empty where none is."""
        return "" if self.application is None else self.application.id

    @property
    def throttles_others(self) -> bool:
        """Whether reassignments of other tools are to be throttled."""
        return self.application is not None and self.application.throttles_others

    @property
    def steps(self) -> Iterator[StepRecord]:
        """The records of what the open application does beside moves."""
        for of_kind in self.begun.values():
            yield from of_kind.values()

    def steps_of(self, kind: type[_S]) -> Mapping[Any, _S]:
        """Those of one kind, by what they are about."""
        of_kind: Mapping[Any, _S] = self.begun.get(kind, {})
        return of_kind

    def lasting(self, kind: type[_S]) -> list[_S]:
        """Those of one kind that were asked for, and are done or have not ended."""
        lasts = {Status.OPEN, Status.DONE}
        return [r for r in self.steps_of(kind).values() if r.asked and r.status in lasts]

    @property
    def throttles(self) -> int:
        """How many throttle settings are replan's and are to be restored."""
        return sum(not saved.kept for saved in self.priors)

    @property
    def priors(self) -> Iterator[Prior]:
        """What was there before each throttle setting that is replan's, kept ones too."""
        yield from self.entries.values()
        yield from self.rates.values()

    def after(self, records: Sequence[Record]) -> "Ledger":
        """The ledger with more records: what a fold of all gives, order included, at the cost of what is new."""
        if not records:
            return self
        together = latest(self.records, records)
        forgotten = [r for r in records if isinstance(r, Forget)]
        only_priors = all(isinstance(self.records.get(r.key), Prior) for r in forgotten)
        if not only_priors or any(isinstance(r, Application) for r in records):
            return _folded(together)
        owned, still_open, done = dict(self.owned), dict(self.open), self.done
        given_up = set(self.given_up)
        for record in records:
            if isinstance(record, MoveRecord) and record.application == self.application_id:
                done += _is_done(record) - _is_done(owned.get(record.partition))
                _place(record, owned, still_open, given_up)
        if forgotten:  # one that was opened again goes back to its place, as in a fold
            still_open = {n: r for n, r in owned.items() if r.status is Status.OPEN}
        entries, rates = self.entries, self.rates
        if any(isinstance(r, Prior | Forget) for r in records):
            entries, rates = dict(entries), dict(rates)
            _place_priors(records, entries, rates, self.records)
        touched = any(isinstance(r, StepRecord) for r in records)
        steps = _steps(together, self.application) if touched else self.begun
        return Ledger(
            together,
            self.application,
            owned,
            still_open,
            frozenset(given_up),
            done,
            entries,
            rates,
            steps,
        )

    def applications(self, plan_digest: str) -> list[Application]:
        """All applications of one plan, as far as the journal remembers them."""
        return [
            r
            for r in self.records.values()
            if isinstance(r, Application) and r.plan_digest == plan_digest
        ]

    def kept_application(self, application: str) -> Application | None:
        """The application of this id; None where it is not kept any more."""
        record = self.records.get(f"{Application.begins}/{application}")
        return record if isinstance(record, Application) else None

    @property
    def cancelling(self) -> bool:
        """Whether the open application was cancelled, and is on its way to rest."""
        return self.application is not None and bool(self.application.cancelled_by)

    def text_of(self, kind: type[ApplicationChunk], application: str) -> str:
        """What is kept of an application in pieces of this kind; empty where nothing is any more."""
        chunks = [
            r for r in self.records.values() if isinstance(r, kind) and r.application == application
        ]
        return "".join(c.text for c in sorted(chunks, key=lambda c: c.index))

    def plan_text(self, application: str) -> str:
        """The plan file of an application; empty where it is not kept any more."""
        return self.text_of(PlanChunk, application)

    def order(self, key: str) -> Order | None:
        """A remembered order by its key."""
        record = self.records.get(key)
        return record if isinstance(record, Order) else None

    def remembered(self) -> dict[TopicPartition, RememberedOrder]:
        """The remembered orders and lists, as they travel in a snapshot."""
        return {
            r.partition: RememberedOrder(r.replicas, r.topic_id, r.left, r.recovered)
            for r in self.records.values()
            if isinstance(r, Order)
        }

    def began(self, state: PartitionState) -> bool:
        """Whether what runs on a partition is a list of replan, of this application or of one that has left it."""
        if state.running is None:
            return False
        own, target = self.owned.get(state.partition), state.running.target
        if own is not None and own.topic_id == state.topic_id and own.began(state.running):
            return True
        order = self.records.get(order_key(state.topic_id, state.partition.partition))
        return isinstance(order, Order) and order.left == target

    @property
    def may_arrive(self) -> bool:
        """Whether a request of the open application may be on its way, as far as the journal says.

        Of lists it says which outcomes are definite; of all else that is asked for only that it has not ended.
        """
        lists = any(own.list_pending for own in self.owned.values())
        return lists or any(step.status is Status.OPEN for step in self.steps)

    @property
    def may_copy(self) -> list[TopicPartition]:
        """Those that may still copy to a list of replan's; a cancel that was asked for may not have arrived."""
        return [
            n
            for n, own in self.owned.items()
            if n in self.given_up or (n in self.open and (own.expanding or own.cancelling))
        ]

    def ended(self, status: Status) -> list[MoveRecord]:
        """The partitions of the open application that ended so."""
        return [own for own in self.owned.values() if own.status is status]


class JournalState(Struct, frozen=True):
    """What a journal says, read without its lock, and which process has that."""

    ledger: Ledger = field(default_factory=Ledger)
    holder: str | None = None
    """As `pid 12 on host since …`; None where nobody has it."""
    unread: bool = False
    """It cannot be read, so that what is open is not known."""
    elsewhere: str = ""
    """Which application is open in a journal of another name, and how to go on with it."""


def fold(records: Iterable[Record]) -> Ledger:
    """The ledger of a whole journal; raises Held where two applications are open."""
    return _folded(latest({}, list(records)))


def _folded(together: dict[str, Kept]) -> Ledger:
    application = _open_application(together)
    owned: dict[TopicPartition, MoveRecord] = {}
    still_open: dict[TopicPartition, MoveRecord] = {}
    given_up = set[TopicPartition]()
    for record in together.values():
        if isinstance(record, MoveRecord) and application and record.application == application.id:
            _place(record, owned, still_open, given_up)
    entries: dict[tuple[str, str], SavedReplicaList] = {}
    rates: dict[tuple[BrokerId, str], SavedRate] = {}
    _place_priors(together.values(), entries, rates, together)
    done = sum(map(_is_done, owned.values()))
    steps = _steps(together, application)
    return Ledger(
        together, application, owned, still_open, frozenset(given_up), done, entries, rates, steps
    )


def _steps(together: Mapping[str, Kept], application: Application | None) -> _Steps:
    """What the open application does beside moves."""
    by_kind: dict[type[Any], dict[Any, Any]] = {}
    open_id = None if application is None else application.id
    for record in together.values():
        if isinstance(record, StepRecord) and record.application == open_id:
            by_kind.setdefault(type(record), {})[record.about] = record
    return by_kind


def _open_application(together: Mapping[str, Kept]) -> Application | None:
    opened = open_applications(together.values())
    if len(opened) > 1:
        named = ", ".join(f"{a.id} of {a.owner}" for a in opened)
        raise Held(
            f"the journal holds {len(opened)} open applications: {named}\n"
            "Two processes wrote to it at once. `replan abandon` ends them all: their moves stay as they are, and "
            "throttles set by replan are restored."
        )
    return opened[0] if opened else None


def open_applications(records: Iterable[Record]) -> list[Application]:
    """Those that are open among the latest records of every key; several where two processes wrote at once."""
    return [r for r in records if isinstance(r, Application) and r.status is ApplicationStatus.OPEN]


def _place(
    record: MoveRecord,
    owned: dict[TopicPartition, MoveRecord],
    still_open: dict[TopicPartition, MoveRecord],
    given_up: set[TopicPartition],
) -> None:
    owned[record.partition] = record
    (given_up.add if record.given_up else given_up.discard)(record.partition)
    if record.status is Status.OPEN:
        still_open[record.partition] = record
    else:
        still_open.pop(record.partition, None)


def _is_done(record: MoveRecord | None) -> bool:
    return record is not None and record.status is Status.DONE


def _place_priors(
    records: Iterable[Record],
    entries: dict[tuple[str, str], SavedReplicaList],
    rates: dict[tuple[BrokerId, str], SavedRate],
    before: Mapping[str, Kept],
) -> None:
    for record in records:
        forgotten = before.get(record.key) if isinstance(record, Forget) else None
        if isinstance(forgotten, SavedReplicaList):
            entries.pop((forgotten.topic, forgotten.config), None)
        elif isinstance(forgotten, SavedRate):
            rates.pop((forgotten.broker, forgotten.config), None)
        elif isinstance(record, SavedReplicaList):
            entries[record.topic, record.config] = record
        elif isinstance(record, SavedRate):
            rates[record.broker, record.config] = record
