"""Client properties in librdkafka's spelling, turned into the settings of both Kafka clients.

One file configures both, so a key that only one of them understands is a risk: a connection that is
verified in one client and not in the other. Every key about security is therefore either mapped for
kafka-python or refused by name. Other keys are tuning: librdkafka gets them, and judges them.

Secrets are kept out of `repr` and out of every message: a message names keys, never values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from replan.errors import BadFile, BadUsage
from replan.kafka.properties.keys import UnsupportedKey
from replan.kafka.properties.security import kafka_python_security

_SECURITY_PREFIXES = (
    "sasl.",
    "ssl.",
    "security.",
    "enable.ssl.",
    "enable.sasl.",
    "oauth",
    "https.",
)
# Not a matter of one connection's security, and not for a file that others write.
_NOT_OURS = frozenset({"plugin.library.paths", "transactional.id", "group.id"})


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """What both clients are told; neither mapping shows in `repr`."""

    addresses: tuple[str, ...]
    client_id: str
    librdkafka: Mapping[str, str] = field(repr=False)
    """For confluent-kafka, `bootstrap.servers` and `client.id` included."""
    kafka_python: Mapping[str, object] = field(repr=False)
    """For kafka-python's connection manager, without addresses and client id."""


def client_properties(bootstrap: str, file: Path | None) -> ClientProperties:
    """Read a client properties file and set the addresses of the command line, which win over the file's.

    Raises:
        BadFile: it cannot be read, a line is no `key=value`, or a security key is not supported.
        BadUsage: an address is not HOST:PORT.
    """
    written = {} if file is None else _parse(file)
    where = "client properties" if file is None else str(file)
    addresses = _addresses(bootstrap)
    client_id = written.get("client.id", "replan")
    try:
        security = kafka_python_security(_security_keys(written))
    except UnsupportedKey as problem:
        raise BadFile(f"{where}: {problem}") from problem
    librdkafka = written | {"bootstrap.servers": ",".join(addresses), "client.id": client_id}
    return ClientProperties(addresses, client_id, librdkafka, security)


def _security_keys(written: Mapping[str, str]) -> dict[str, str]:
    for key in sorted(_NOT_OURS & written.keys()):
        raise UnsupportedKey(f"{key} does not belong here; remove the line")
    return {k: v for k, v in written.items() if k.startswith(_SECURITY_PREFIXES)}


def _parse(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadFile(f"{file}: cannot be read: {problem}") from problem
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        key, equals, value = stripped.partition("=")
        key = key.strip()
        if not equals or not key:
            raise BadFile(f"{file}:{number}: not KEY=VALUE")
        if key in found:
            raise BadFile(f"{file}:{number}: {key} stands twice; keep one of them")
        found[key] = value.strip()
    return found


def _addresses(bootstrap: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in bootstrap.split(",") if part.strip())
    for address in found:
        host, colon, port = address.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise BadUsage(f"--bootstrap-server: {address!r} is not HOST:PORT")
    if not found:
        raise BadUsage("--bootstrap-server: no address; give HOST:PORT[,HOST:PORT...]")
    return found
