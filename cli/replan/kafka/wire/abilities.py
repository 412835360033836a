"""What a broker says of itself (ApiVersions): the requests it knows, what the cluster can do, how much it has read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka.errors import UnsupportedVersionError

from replan.kafka.messages import ApiVersions
from replan.kafka.wire.frames import Cursor, Question

FIRST_VERSION = 3
"""Of Kafka 2.4."""
_OFFSET, _FINALIZED = 1, 2


@dataclass(slots=True)
class Abilities:
    """A broker's answer."""

    versions: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The lowest and highest version of each request that it knows, by API key."""
    features: Mapping[str, int] = field(default_factory=dict)
    """The finalized level of each feature."""
    metadata_offset: int = -1
    """How far it has read the log of the controllers, whose end is the cluster's present state: all that it shows is as
    of then (KRaftMetadataCache.features)."""


UNKNOWN = Abilities({ApiVersions.API_KEY: (0, FIRST_VERSION)})
"""Of a broker that was not asked yet."""


def _read(body: memoryview, _version: int) -> Abilities:
    cursor = Cursor(bytes(body))
    if cursor.integer(2):  # in the oldest form, which has nothing else here
        raise UnsupportedVersionError("the broker is older than Kafka 2.4")
    found = Abilities()
    for _ in range(cursor.length()):
        key, lowest, highest = cursor.integer(2), cursor.integer(2), cursor.integer(2)
        found.versions[key] = lowest, highest
        cursor.skip_tags()
    cursor.skip(4)
    for _ in range(cursor.varint()):
        tag, length = cursor.varint(), cursor.varint()
        after = cursor.at + length
        if tag == _OFFSET:
            found.metadata_offset = cursor.integer(8)
        elif tag == _FINALIZED:
            found.features = _levels(cursor)
        cursor.at = after
    return found


def _levels(cursor: Cursor) -> dict[str, int]:
    levels = {}
    for _ in range(cursor.length()):
        name = cursor.text()
        levels[name] = cursor.integer(2)
        cursor.skip(2)
        cursor.skip_tags()
    return levels


# Brokers refuse empty software names (KIP-511).
ASKING = Question(ApiVersions(client_software_name="replan", client_software_version="1"), _read)
"""The question, which a broker answers by itself and at once: it shows also that a connection is alive."""
