"""Client properties in librdkafka's or the Java client's spelling, understood.

Tools that share a file with replan may know keys that replan does not. A key about security that is ignored is a
risk, a connection that is verified by one and not by the other; so each of them is understood or refused by name.
Other keys are tuning, and have no meaning here.

Secrets are kept out of `repr` and out of every message: a message names keys, never values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext

from replan.errors import BadFile, BadUsage
from replan.kafka.properties.java import CONTINUED, in_librdkafkas_spelling
from replan.kafka.properties.keys import UnsupportedKey
from replan.kafka.properties.security import security

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
class Address:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """Whom to ask first, and how connections are secured."""

    addresses: tuple[Address, ...]
    client_id: str = "replan"
    tls: SSLContext | None = None
    sasl: Mapping[str, object] | None = field(default=None, repr=False)
    """The mechanism and its settings, as kafka-python names them."""
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The same for confluent-kafka."""


def client_properties(bootstrap: str, file: Path | None) -> ClientProperties:
    """Read a client properties file and set the addresses of the command line, which win over the file's.

    Raises:
        BadFile: it cannot be read, a line is no `key=value`, or a security key is not supported.
        BadUsage: an address is not HOST:PORT.
    """
    written = {} if file is None else _parse(file)
    where = "client properties" if file is None else str(file)
    addresses = _addresses(bootstrap)
    try:
        keys = in_librdkafkas_spelling(_security_keys(written))
        secured = security(keys)
    except UnsupportedKey as problem:
        raise BadFile(f"{where}: {problem}") from problem
    client_id = written.get("client.id", "replan")
    librdkafka = {
        **{
            key: value.replace("\\n", "\n") if key.endswith(".pem") else value
            for key, value in keys.items()
        },
        "bootstrap.servers": ",".join(map(str, addresses)),
        "client.id": client_id,
    }
    return ClientProperties(addresses, client_id, secured.tls, secured.sasl, librdkafka)


def _security_keys(written: Mapping[str, str]) -> dict[str, str]:
    for key in sorted(_NOT_OURS & written.keys()):
        raise UnsupportedKey(f"{key} does not belong here; remove the line")
    for key in sorted(written):
        spelt = key.lower().replace("_", ".")
        if spelt != key and spelt.startswith(_SECURITY_PREFIXES):
            raise UnsupportedKey(f"{key} is no property; write {spelt}")
    return {k: v for k, v in written.items() if k.startswith(_SECURITY_PREFIXES)}


def _parse(file: Path) -> dict[str, str]:
    try:
        # A byte order mark would make the first key another one, and its line be ignored.
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadFile(f"{file}: cannot be read: {problem}") from problem
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
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


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; a value of Java's own keys goes on behind a backslash at the end of its line."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        whole = line
        while whole.endswith("\\") and whole.partition("=")[0].strip() in CONTINUED:
            _, more = next(lines, (0, ""))
            whole = whole[:-1] + more.lstrip()
        yield number, whole


def _addresses(bootstrap: str) -> tuple[Address, ...]:
    found = tuple(_address(part.strip()) for part in bootstrap.split(",") if part.strip())
    if not found:
        raise BadUsage("--bootstrap-server: no address; give HOST:PORT[,HOST:PORT...]")
    return found


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BadUsage(f"--bootstrap-server: {text!r} is not HOST:PORT")
    if host.startswith("[") and host.endswith("]"):
        return Address(host[1:-1], int(port))
    if "/" in host or ";" in host or " " in host:
        raise BadUsage(f"--bootstrap-server: {text!r} is not HOST:PORT[,HOST:PORT...]")
    if ":" in host:
        raise BadUsage(
            f"--bootstrap-server: {text!r} could be read in two ways; write [{host}]:{port} for an IPv6 address"
        )
    return Address(host, int(port))
