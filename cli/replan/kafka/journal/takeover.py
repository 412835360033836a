"""How a process becomes the one that writes the journal: wait for the lock, fence, commit a barrier, read up to it."""

from collections.abc import Callable

from replan.errors import BadUsage, ClusterUnreachable, Held
from replan.kafka.journal.lock import DEAD_SECONDS, KEY, Lock, Watch, encode_lock
from replan.kafka.journal.read import TopicReader
from replan.kafka.journal.topic_journal import TopicJournal
from replan.kafka.journal.transactions import Transactions
from replan.model.control_plane import Clock

BEGIN_SECONDS = 60.0
"""To become the writer: the first time a cluster makes `__transaction_state` for it."""
BARRIER_SECONDS = 60.0
"""To read one's own first record: another program's open transaction may hide it until that one times out."""
WATCH_SECONDS = 1.0
"""Between two looks at the lock of another process."""
_PAUSE_SECONDS = 0.05
Note = Callable[[str], None]


def take(
    reader: TopicReader,
    make_writer: Callable[[], Transactions],
    owner: str,
    clock: Clock,
    *,
    lock_timeout: float,
    note: Note,
) -> TopicJournal:
    """Become the writer of the journal.

    A lock without a sign of life for a minute is taken over; a live one is waited for `lock_timeout` seconds.

    Raises:
        Held: another process has it, and lives.
        ClusterUnreachable, ClusterRefused, BadFile: it cannot be read or written.
    """
    _await_lock(reader, clock, lock_timeout, note)
    lock = Lock.new(owner, reader.cluster_id)
    writer = make_writer()
    _fence(reader, writer, lock)
    return TopicJournal(reader, writer, lock, clock)


def release(
    reader: TopicReader,
    make_writer: Callable[[], Transactions],
    lock_id: str,
    reason: str,
    owner: str,
) -> Lock:
    """Take the lock from the process that has it, and give it back at once; returns the lock as it was.

    Raises:
        BadUsage: nobody has it, or another process than the one that was named.
        ClusterUnreachable, ClusterRefused, BadFile: it cannot be read or written.
    """
    reader.refresh()
    held = reader.lock
    if held is None or not held.held:
        raise BadUsage("nobody holds the lock of this cluster; there is nothing to release")
    if held.id != lock_id:
        raise BadUsage(
            f"the lock is {held.id} of {held.owner} now, not {lock_id}; see `replan lock show`"
        )
    writer = make_writer()
    writer.begin(BEGIN_SECONDS)
    writer.commit([(KEY, encode_lock(held.released(f"{reason} ({owner})")))], BARRIER_SECONDS)
    return held


def _await_lock(reader: TopicReader, clock: Clock, lock_timeout: float, note: Note) -> None:
    began = clock.now()
    watch = Watch(reader.lock, began)
    announced = False
    while not watch.free(clock.now()):
        clock.sleep(WATCH_SECONDS)
        reader.refresh()
        now = clock.now()
        watch = watch.seen(reader.lock, now)
        if watch.lock is None or watch.free(now):
            continue
        if watch.since > began and now - began >= lock_timeout:
            raise Held(_alive(watch.lock))
        if not announced:
            note(_waiting_for(watch.lock))
            announced = True
    if watch.lock is not None and watch.lock.held:
        note(f"no sign of life of {watch.lock.owner} for {DEAD_SECONDS:.0f} s: taking over")


def _fence(reader: TopicReader, writer: Transactions, lock: Lock) -> None:
    """End the process before, for good; then know all that it had committed."""
    writer.begin(BEGIN_SECONDS)
    writer.commit([(KEY, encode_lock(lock))], BARRIER_SECONDS)
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
    return (
        f"the lock of this cluster is held by {lock.owner} since {lock.since}; "
        f"watching for a sign of life, {DEAD_SECONDS:.0f} s at most"
    )


def _alive(lock: Lock) -> str:
    working = f", application {lock.application}" if lock.application else ""
    return (
        f"the lock of this cluster is held by {lock.owner} since {lock.since}{working}; it is at work "
        f"(lock {lock.id})\n"
        "Wait until it has ended, or give --lock-timeout; stop it with ^C there: the same command then goes on. "
        f"`replan lock release {lock.id} --reason TEXT` takes the lock away from it."
    )
