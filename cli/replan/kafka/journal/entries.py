"""Records of the journal as keys and values of the topic."""

from replan.applying.journal.record_json import decode, encode
from replan.applying.journal.records import Record


def transactional_id(topic: str) -> str:
    """The id of the producer that writes the journal of this topic; an ACL names it."""
    return f"replan-{topic}"


def entry(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value of a record; a tombstone has no value."""
    key, value = encode(record)
    return key.encode(), value


def record_of(key: bytes, value: bytes) -> Record:
    """Read it again; raises ValueError where it is no record."""
    return decode(key.decode(), value)
