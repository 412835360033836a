"""How a process becomes the one that writes the journal, writes it, and lets it go.

It waits for the lock, fences whoever had it, commits a barrier, and reads up to it. The states and invariants are in
the package's docstring.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from replan.applying.journal.ledger import open_applications
from replan.applying.journal.protocol import latest
from replan.applying.journal.records import INBOX, Command, Forget, Record
from replan.errors import BadUsage, ClusterRefused, ClusterUnreachable, Held, ReplanError
from replan.kafka.journal.lock import (
    KEY,
    LOCK_BEAT_SECONDS,
    LOCK_DEAD_SECONDS,
    Lock,
    LockWatch,
    encode_lock,
)
from replan.kafka.journal.read import TopicReader, elsewhere_text
from replan.kafka.journal.topic import JournalTopic
from replan.kafka.journal.write import Fenced, Transactions, entry
from replan.model.control_plane import Clock
from replan.model.names import Replicas
from replan.wording import count

BEGIN_SECONDS = 60.0
"""To become the writer: the first time a cluster makes `__transaction_state` for it."""
BARRIER_SECONDS = 60.0
"""To read one's own first record: another program's open transaction may hide it until that one times out."""
LOCK_WATCH_SECONDS = 1.0
"""Between two looks at the lock of another process."""
LOCK_COUNTED_SECONDS = 15.0
"""How often it is said for how much longer that is."""
_PAUSE_SECONDS = 0.05
Notify = Callable[[str], None]


def take_ownership(
    topic: JournalTopic,
    owner: str,
    clock: Clock,
    *,
    lock_timeout: float,
    note: Notify,
    placed: Replicas = (),
) -> "OwnedJournal":
    """Become the writer of the journal.

    A lock without a sign of life for a minute is taken over; a live one is waited for `lock_timeout` seconds. Topics
    that are missing are made on `placed`.

    Raises:
        Held: another process has the lock, and lives; or an application is open in another topic.
        ClusterUnreachable, ClusterRefused, BadFile: it cannot be read, or must not be written.
    """
    exist = [reader for reader in topic.readers if reader.refresh()]
    weak = [text for reader in exist for text in topic.check(reader)]
    watch = _await_lock(topic.locks, clock, lock_timeout, note)
    _check_alone(topic)
    for text in weak:
        note(f"warning: {text}")
    for reader in topic.readers:
        if not reader.refresh():
            note(str(topic.create(reader, placed)))
    writer = topic.writer()
    writer.begin(BEGIN_SECONDS)
    lock = _barrier(topic, writer, owner)
    return OwnedJournal(topic, writer, lock, clock, note, silent_since=_silent(topic.locks, watch))


def _silent(reader: TopicReader, watch: LockWatch) -> float | None:
    """Since when the process before has committed nothing, and so has requested nothing that it had not by then.

    It was watched, and the lock that it wrote last, as everything up to the barrier shows, is the one that was watched.
    """
    watched = watch.lock is not None and watch.lock.held and reader.lock_before == watch.lock
    return watch.since if watched else None


def _check_alone(topic: JournalTopic) -> None:
    """Raise Held where an application is open in another topic of this cluster."""
    elsewhere = topic.open_elsewhere(topic.reader.topic)
    if elsewhere is not None:
        raise Held(elsewhere_text(*elsewhere))


def release_lock(topic: JournalTopic, lock_id: str, reason: str, owner: str) -> Lock:
    """Take the lock from the process that has it, and give it back at once; returns the lock as it was.

    Raises:
        BadUsage: nobody has it, or another process than the one that was named.
        ClusterUnreachable, ClusterRefused, BadFile: it cannot be read or written.
    """
    reader = topic.locks
    reader.refresh()
    held = reader.lock
    if held is None or not held.held:
        raise BadUsage("nobody holds the lock of this cluster; there is nothing to release")
    if held.id != lock_id:
        raise BadUsage(
            f"the lock is {held.id} of {held.owner} now, not {lock_id}; see `replan lock show`"
        )
    writer = topic.writer()
    writer.begin(BEGIN_SECONDS)
    released = encode_lock(held.released(f"{reason} ({owner})"))
    writer.commit([(reader.topic, KEY, released)], BARRIER_SECONDS)
    return held


def _await_lock(reader: TopicReader, clock: Clock, lock_timeout: float, note: Notify) -> LockWatch:
    began = clock.now()
    watch = LockWatch(reader.lock, began)
    announced, counted, calls = False, 0.0, reader.clock.interrupt.calls
    while not watch.free(clock.now()):
        clock.sleep(LOCK_WATCH_SECONDS)
        if watch.lock is not None and reader.clock.interrupt.calls > calls:
            raise Held(f"{_held_by(watch.lock)}; this process was asked to stop while it waited")
        reader.refresh()
        now = clock.now()
        watch = watch.after(reader.lock, now)
        if watch.lock is None or watch.free(now):
            continue
        if watch.since > began and now - began >= lock_timeout:
            raise Held(_alive(watch.lock))
        if not announced:
            note(_waiting_for(watch.lock))
            announced = True
        silent = now - watch.since
        counted = min(counted, silent)
        if silent - counted >= LOCK_COUNTED_SECONDS:
            counted = silent
            note(
                f"no sign of life of {watch.lock.owner} for {silent:.0f} s: "
                f"it is taken over in {LOCK_DEAD_SECONDS - silent:.0f} s"
            )
    if watch.lock is not None and watch.lock.held:
        note(f"no sign of life of {watch.lock.owner} for {LOCK_DEAD_SECONDS:.0f} s: taking over")
    return watch


def _barrier(topic: JournalTopic, writer: Transactions, owner: str) -> Lock:
    """Write the lock, and know all that was committed before it: nobody before can write any more."""
    for reader in topic.readers:
        reader.refresh()
    _check_alone(topic)
    opened = open_applications(topic.reader.records())
    application = opened[0].id if opened else ""
    lock = Lock.new(owner, topic.locks.cluster_id, topic.reader.topic, application)
    writer.commit(_lock_entries(topic, lock), BARRIER_SECONDS)
    for reader in topic.readers:
        _await_own(reader, lock)
    return lock


def _lock_entries(topic: JournalTopic, lock: Lock) -> list[tuple[str, bytes, bytes]]:
    """The lock, also in the topic of the journal where that is another one: a barrier there, and whose it is."""
    return [(reader.topic, KEY, encode_lock(lock)) for reader in topic.readers]


def _await_own(reader: TopicReader, lock: Lock) -> None:
    clock = reader.clock
    until, calls = clock.now() + BARRIER_SECONDS, clock.interrupt.calls
    reader.refresh()
    while reader.lock != lock:
        if clock.now() >= until or clock.interrupt.calls > calls:
            raise ClusterUnreachable(
                f"the journal topic {reader.topic}: what was just committed cannot be read after "
                f"{BARRIER_SECONDS:.0f} s; another program may hold a transaction open there"
            )
        clock.sleep(_PAUSE_SECONDS)
        reader.refresh()


def _waiting_for(lock: Lock) -> str:
    return f"{_held_by(lock)}; watching for a sign of life, {LOCK_DEAD_SECONDS:.0f} s at most"


def _held_by(lock: Lock) -> str:
    return f"the lock of this cluster is held by {lock.owner} since {lock.since}"


def _alive(lock: Lock) -> str:
    working = f", application {lock.application}" if lock.application else ""
    return (
        f"{_held_by(lock)}{working}; it is at work "
        f"(lock {lock.id})\n"
        "Wait until it has ended, or give --lock-timeout. Or stop it with ^C there; `replan resume` then goes on with "
        "what it was at. "
        f"`replan lock release {lock.id} --reason TEXT` takes the lock away from it."
    )


APPEND_SECONDS = 5.0
"""How long an append waits; requests are not sent on an older intent anyway (`Settings.look_seconds`)."""
RELEASE_SECONDS = 3.0


class OwnedJournal:
    """A journal in a topic, owned by this process; made by `take_ownership`, closed by `close` or `with`."""

    def __init__(
        self,
        topic: JournalTopic,
        writer: Transactions,
        lock: Lock,
        clock: Clock,
        note: Notify,
        *,
        silent_since: float | None = None,
    ) -> None:
        self.silent_since = silent_since
        self._topic, self._writer, self._clock, self._note = topic, writer, clock, note
        self._latest = latest({}, topic.reader.records())
        self._lock = lock
        self._renewed_at = clock.now()
        self._unsure: set[str] = set()
        self._incomplete = False
        """Whether the topic was made again and does not hold everything yet."""
        self._fenced = False
        self._answered = {key for key in self._latest if key.startswith(INBOX)}
        """Keys of the inbox that this process need not look at: found at the beginning, or written since."""

    def read(self) -> Sequence[Record]:
        """The latest record of every key."""
        return list(self._latest.values())

    def append(self, records: Sequence[Record]) -> None:
        """Commit records; without any, give a sign of life when one is due.

        Raises:
            ClusterUnreachable: not committed, or not known to be; the next append makes sure.
            Held: another process has taken over.
            ClusterRefused: it must not be written any more.
        """
        due = self._clock.now() - self._renewed_at >= LOCK_BEAT_SECONDS
        if records or self._unsure or self._incomplete or due or self._doubtful():
            after = latest(self._latest, records)
            opened = [a.id for a in open_applications(after.values())]
            self._write(records, self._lock.renewed(opened[0] if opened else ""), APPEND_SECONDS)
            self._answered |= {r.key for r in records if r.key.startswith(INBOX)}

    def arrived(self) -> Sequence[Command]:
        """The commands that no append of this process has answered; what a commit without a known outcome did not."""
        self._topic.reader.glance(self._clock.now())
        return [
            replace(c, obeyed_by="", refused=False)
            for c in self._topic.reader.inbox()
            if c.key not in self._answered
        ]

    def close(self) -> None:
        """Release the lock, so that the next process need not wait; silent where that does not succeed."""
        if not self._fenced:
            with suppress(ReplanError):
                self._write([], self._lock.released(), RELEASE_SECONDS)

    def _write(self, records: Sequence[Record], lock: Lock, limit_seconds: float) -> None:
        """One transaction: the lock, these records, and what an append that failed may have replaced.

        It counts once the topics are found to be those that were read, both before and after: where one was made again,
        all that the journal holds is written again.
        """
        now = self._clock.now()
        written = {record.key: record for record in records}
        after = latest(self._latest, records)
        try:
            followed = self._followed(self._lost())
            self._writer.commit(self._entries(written, after, lock), limit_seconds)
            if lost := self._lost():
                followed += self._followed(lost)
                self._writer.commit(self._entries(written, after, lock), limit_seconds)
        except Fenced as fenced:
            self._fenced = True
            raise Held(self._taken_over()) from fenced
        except ClusterUnreachable:
            self._unsure |= written.keys()
            raise
        self._lock, self._renewed_at, self._latest = lock, now, after
        self._unsure, self._incomplete = set(), False
        self._say(followed)

    def _entries(
        self, written: Mapping[str, Record], after: Mapping[str, Record], lock: Lock
    ) -> list[tuple[str, bytes, bytes | None]]:
        first = after if self._incomplete else sorted(self._unsure)
        keys = dict.fromkeys([*first, *self._unsure, *written])
        name = self._topic.reader.topic
        return [
            *_lock_entries(self._topic, lock),
            *((name, *entry(written.get(k) or after.get(k) or Forget(k))) for k in keys),
        ]

    def _lost(self) -> list[TopicReader]:
        """The topics that were deleted, or made again, since they were read."""
        return [r for r in self._topic.readers if not r.stands(APPEND_SECONDS)]

    def _doubtful(self) -> bool:
        """Whether there is something to write because a topic was made again; asked where a look at it failed."""
        return self._topic.reader.doubtful and bool(self._lost())

    def _followed(self, lost: Sequence[TopicReader]) -> list[TopicReader]:
        """Read the topics that were made again, or make them; what they are to hold is written next."""
        for reader in lost:
            placed = reader.replicas
            self._incomplete |= reader is self._topic.reader
            reader.begin_again()
            if not reader.refresh(APPEND_SECONDS):
                self._note(f"{self._topic.create(reader, placed)}, as it was deleted")
            reader.records()
        return list(lost)

    def _say(self, followed: Sequence[TopicReader]) -> None:
        """What became of topics that were made again; raises ClusterRefused where one would lose the journal."""
        for reader in followed:
            self._note(
                f"warning: the journal topic {reader.topic} was deleted while it was in use; it was written again: "
                f"{count(len(self._latest), 'record')} and the lock. Find out who manages it"
            )
            losing = [flaw.text for flaw in self._topic.flaws(reader) if flaw.loses]
            if losing:
                raise ClusterRefused(
                    f"the journal topic {reader.topic} was made again by somebody, and would lose what is in it: "
                    f"{'; '.join(losing)}\nEverything was written again there, and nothing more is requested. Set the "
                    "topic right, then run the same command again to resume."
                )

    def _taken_over(self) -> str:
        """Who has the journal now, as far as that can be read."""
        with suppress(ReplanError):
            self._topic.locks.refresh()
        now = self._topic.locks.lock
        if now is not None and now.id == self._lock.id and not now.held:
            return (
                f"the lock of this process was released: {now.reason}\n"
                "Nothing more was sent. `replan status` shows how the application stands."
            )
        if now is None or now.id == self._lock.id:
            return (
                "this process may not write the journal any more: it was silent in the middle of a write\n"
                "Nothing more was sent. Run the same command again to resume."
            )
        return (
            f"the journal was taken over by {now.owner} at {now.since}, because this process had been silent\n"
            "Nothing more was sent. `replan status` shows how the application stands."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
