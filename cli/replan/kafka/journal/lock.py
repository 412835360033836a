"""The lock: the record that says who writes the journal, and how it is watched.

It is written again with every transaction. Invariant: only elapsed time on the watcher's own monotonic clock
decides when its owner counts as dead; `since` and `at` are for people.
"""

from typing import Final, Self
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.records import timestamp_now
from replan.errors import BadFile
from replan.model.names import JOURNAL_TOPIC

TRANSACTIONAL_ID: Final = f"replan-{JOURNAL_TOPIC}"
"""Of the producer that writes the lock and the journal of a cluster, whatever topic that is in: whoever takes over
fences the one before. An ACL names it."""
KEY: Final = b"lock"
LOCK_DEAD_SECONDS = 60.0
"""Of a lock that nobody renews: longer than any pause of a process that goes on, and it is fenced if it was longer."""
LOCK_BEAT_SECONDS = 10.0
LOCK_VERSION: Final = 1


class Lock(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which process has the journal, or had it last."""

    id: str
    """Of one opening of the journal; a process that takes over has another one."""
    cluster_id: str
    """Of the cluster that it locks; a copy of the topic on another one locks nothing there."""
    owner: str
    """Who and where, for people: `alice@ops-1 (pid 4711)`."""
    since: str
    at: str
    """The last sign of life, on the owner's clock."""
    beat: int = 0
    """Counts up with every transaction; an equal lock is one without a sign of life between."""
    held: bool = True
    journal: str = JOURNAL_TOPIC
    """The topic in which its owner keeps the journal."""
    application: str = ""
    """The one that is open in that journal."""
    reason: str = ""
    """Why another process released it."""
    version: int = LOCK_VERSION

    @classmethod
    def new(
        cls, owner: str, cluster_id: str, journal: str = JOURNAL_TOPIC, application: str = ""
    ) -> Self:
        """The lock of a process that takes the journal now."""
        now = timestamp_now()
        return cls(
            id=uuid4().hex[:12],
            cluster_id=cluster_id,
            owner=owner,
            since=now,
            at=now,
            journal=journal,
            application=application,
        )

    def renewed(self, application: str) -> "Lock":
        """A sign of life."""
        return replace(self, at=timestamp_now(), beat=self.beat + 1, application=application)

    def released(self, reason: str = "") -> "Lock":
        """Nobody has it any more."""
        return replace(self, at=timestamp_now(), beat=self.beat + 1, held=False, reason=reason)


def encode_lock(lock: Lock) -> bytes:
    """The value of its record."""
    return msgspec.json.encode(lock)


def decode_lock(value: bytes) -> Lock:
    """Read the value of its record; raises BadFile where it is none, or one of a newer release."""
    try:
        return msgspec.json.decode(value, type=Lock)
    except msgspec.MsgspecError as problem:
        raise BadFile(
            f"the lock of the journal cannot be read: {problem}\n"
            "A newer replan may have written it; use that one, or a newer one."
        ) from problem


class LockWatch(Struct, frozen=True):
    """A lock that is being watched, and since when it has not changed."""

    lock: Lock | None
    since: float

    def after(self, lock: Lock | None, now: float) -> "LockWatch":
        """The watch after another look at the lock; `now`: seconds of this process's own clock."""
        return self if lock == self.lock else replace(self, lock=lock, since=now)

    def free(self, now: float) -> bool:
        """Whether it may be taken: nobody has it, or whoever had it has shown no sign of life for a minute."""
        return self.lock is None or not self.lock.held or now - self.since >= LOCK_DEAD_SECONDS
