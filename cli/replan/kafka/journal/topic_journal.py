"""The journal of `applying.journal.protocol` in a compacted topic, from taking it over to letting it go.

The states and invariants are in the package's docstring.
"""

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from replan.applying.journal.ledger import open_applications
from replan.applying.journal.protocol import latest
from replan.applying.journal.records import INBOX, Command, Forget, Record, changed
from replan.errors import ClusterUnreachable, Held, ReplanError
from replan.kafka.journal.entries import entry
from replan.kafka.journal.lock import BEAT_SECONDS, KEY, Lock, encode_lock
from replan.kafka.journal.read import TopicReader
from replan.kafka.journal.transactions import Fenced, Transactions
from replan.model.control_plane import Clock

COMMIT_SECONDS = 5.0
"""How long an append waits; requests are not sent on an older intent anyway (`Settings.intent_seconds`)."""
RELEASE_SECONDS = 3.0


class TopicJournal:
    """A journal in a topic, owned by this process; made by `takeover.take`, closed by `close` or `with`."""

    def __init__(self, reader: TopicReader, writer: Transactions, lock: Lock, clock: Clock) -> None:
        self._reader, self._writer, self._clock = reader, writer, clock
        self._latest = latest({}, reader.records())
        self._lock = lock
        self._renewed_at = clock.now()
        self._unsure: set[str] = set()
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
        due = self._clock.now() - self._renewed_at >= BEAT_SECONDS
        if records or self._unsure or due:
            after = latest(self._latest, records)
            opened = [a.id for a in open_applications(after.values())]
            self._write(records, self._lock.renewed(opened[0] if opened else ""), COMMIT_SECONDS)
            self._latest = after
            self._answered |= {r.key for r in records if r.key.startswith(INBOX)}

    def arrived(self) -> Sequence[Command]:
        """The commands that no append of this process has answered; what a commit without a known outcome did not."""
        self._reader.glance(self._clock.now())
        return [
            changed(c, obeyed_by="", refused=False)
            for c in self._reader.inbox()
            if c.key not in self._answered
        ]

    def close(self) -> None:
        """Release the lock, so that the next process need not wait; silent where that does not succeed."""
        if not self._fenced:
            with suppress(ReplanError):
                self._write([], self._lock.released(), RELEASE_SECONDS)

    def _write(self, records: Sequence[Record], lock: Lock, limit_seconds: float) -> None:
        """One transaction: the lock, these records, and what an append that failed may have replaced."""
        now = self._clock.now()
        written = {record.key: record for record in records}
        former = {k: self._latest.get(k, Forget(k)) for k in self._unsure if k not in written}
        entries = [entry(record) for record in (*former.values(), *written.values())]
        try:
            self._writer.commit([(KEY, encode_lock(lock)), *entries], limit_seconds)
        except Fenced as fenced:
            self._fenced = True
            raise Held(self._taken_over()) from fenced
        except ClusterUnreachable:
            self._unsure |= written.keys()
            raise
        self._lock, self._renewed_at = lock, now
        self._unsure = set()

    def _taken_over(self) -> str:
        """Who has the journal now, as far as that can be read."""
        with suppress(ReplanError):
            self._reader.refresh()
        now = self._reader.lock
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
