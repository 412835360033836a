"""Client properties in librdkafka's or the Java client's spelling, understood: the same file serves Kafka's own tools.

Both clients of replan take what comes out, in librdkafka's spelling, so one connection is never secured otherwise than
the other. Certificates and keys of a keystore go through OpenSSL's program, since no library that replan needs reads
PKCS12; on Linux they are never written to a disk.

Tools that share a file with replan may know keys that replan does not. A key about security that is ignored is a
risk, a connection that is verified by one and not by the other; so each of them is understood or refused by name.
Other keys are tuning, and have no meaning here.

Secrets are kept out of `repr` and out of every message: a message names keys, never values.
"""

import base64
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from ssl import SSLContext
from typing import Any

from kafka.errors import KafkaError
from msgspec import Struct, field

from replan.errors import BadFile, BadUsage
from replan.kafka.property_keys import CALLBACK_HANDLER, Secretive, UnsupportedKey
from replan.kafka.security import is_given, security, subject_of

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


class Address(Struct, frozen=True):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ClientProperties(Secretive, frozen=True):
    """Whom to ask first, and how connections are secured."""

    addresses: tuple[Address, ...]
    client_id: str = "replan"
    tls: SSLContext | None = None
    sasl: Mapping[str, object] | None = None
    """The mechanism and its settings, as kafka-python names them."""
    librdkafka: Mapping[str, str] = field(default_factory=dict)
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
        keys = _with_line_ends(in_librdkafkas_spelling(_security_keys(written)))
        secured = security(keys)
    except UnsupportedKey as problem:
        raise BadFile(f"{where}: {problem}") from problem
    client_id = written.get("client.id", "replan")
    librdkafka = {
        **keys,
        "bootstrap.servers": ",".join(map(str, addresses)),
        "client.id": client_id,
    }
    return ClientProperties(addresses, client_id, secured.tls, secured.sasl, librdkafka)


def _with_line_ends(keys: Mapping[str, str]) -> dict[str, str]:
    """PEM on one line of a properties file writes its line ends as backslash n."""
    return {k: v.replace("\\n", "\n") if k.endswith(".pem") else v for k, v in keys.items()}


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
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        key, equals, value = stripped.partition("=")
        key = key.strip()
        if not equals or not _KEY.fullmatch(
            key
        ):  # what follows `KEY:` may be a secret with a = in it
            raise BadFile(f"{file}:{number}: not KEY=VALUE")
        if key in properties:
            raise BadFile(f"{file}:{number}: {key} stands twice; keep one of them")
        properties[key] = value.strip()
    return properties


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
    addresses = dict.fromkeys(_address(p.strip()) for p in bootstrap.split(",") if p.strip())
    if not addresses:
        raise BadUsage("--bootstrap-server: no address; give HOST:PORT[,HOST:PORT...]")
    return tuple(addresses)


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


# As whom brokers know this client.

ANONYMOUS = "User:ANONYMOUS"


def principal_of(properties: ClientProperties) -> str:
    """As whom brokers know this client: `User:NAME`, or words for one that cannot be known here. No request asks them.

    The name is that of the default principal builder (DefaultKafkaPrincipalBuilder); a broker may map it to another one
    (ssl.principal.mapping.rules, sasl.kerberos.principal.to.local.rules).
    """
    sasl, keys = properties.sasl, properties.librdkafka
    if sasl is None:
        if properties.tls is None or not is_given(keys):
            return ANONYMOUS
        subject = subject_of(keys)
        return "the owner of this client's certificate" if subject is None else f"User:{subject}"
    if "sasl_plain_username" in sasl:
        return f"User:{sasl['sasl_plain_username']}"
    if "sasl_oauth_token_provider" in sasl:
        return _of_token(sasl["sasl_oauth_token_provider"], keys["sasl.oauthbearer.client.id"])
    return "the user of the Kerberos ticket"


def _of_token(provider: Any, client_id: str) -> str:
    """The subject of the token (sasl.oauthbearer.sub.claim.name, by default `sub`)."""
    with suppress(KafkaError, ValueError, LookupError):
        claims = provider.token().split(".")[1]
        subject = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]
        return f"User:{subject}"
    return f"the client {client_id} of the token endpoint"


# What only the Java client spells so, in librdkafka's spelling.

JAAS = "sasl.jaas.config"
CONTINUED = frozenset(
    {JAAS, "ssl.truststore.certificates", "ssl.keystore.key", "ssl.keystore.certificate.chain"}
)
"""Java's own keys: their values may go on in the next line, after a backslash."""
_OWN_HANDLERS = frozenset(
    {
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    }
)
_KEY = re.compile(r"[\w.-]+")
_OPTION = re.compile(r'\s*([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]+)')
_PASSWORDS = {"username": "sasl.username", "password": "sasl.password"}
_TOKENS = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_EXTENSION = "extension_"
_PROTOCOLS = frozenset({"TLS", "TLSv1.2", "TLSv1.3"})


def in_librdkafkas_spelling(written: Mapping[str, str]) -> dict[str, str]:
    """The keys with all that only Java spells so put otherwise; one that stands in both spellings is refused."""
    unread = dict(written)
    spelled = {
        **_login(unread),
        **_authorities(unread),
        **_own_certificate(unread),
        **_verification(unread),
    }
    for key in sorted(spelled.keys() & unread.keys()):
        raise UnsupportedKey(f"{key} is there in the Java client's spelling, too; keep one of them")
    return {**unread, **spelled}


def _login(unread: dict[str, str]) -> dict[str, str]:
    config, handler = unread.pop(JAAS, None), unread.get(CALLBACK_HANDLER)
    if handler in _OWN_HANDLERS:
        del unread[CALLBACK_HANDLER]
    if not config:
        return {}
    module, options = _jaas(config)
    match module.rpartition(".")[2]:
        case "PlainLoginModule" | "ScramLoginModule":
            return _named(options, _PASSWORDS)
        case "OAuthBearerLoginModule":
            said = {k.removeprefix(_EXTENSION): v for k, v in options.items() if _extends(k)}
            more = {"sasl.oauthbearer.extensions": ",".join(f"{k}={v}" for k, v in said.items())}
            usual = {k: v for k, v in options.items() if not _extends(k)}
            return {
                "sasl.oauthbearer.method": "oidc",
                **_named(usual, _TOKENS),
                **(more if said else {}),
            }
        case "Krb5LoginModule":
            raise UnsupportedKey(
                f"{JAAS}: a Krb5LoginModule is not read; log in with `kinit` (-kt KEYTAB), "
                "and write sasl.mechanism=GSSAPI and sasl.kerberos.service.name"
            )
        case _:
            raise UnsupportedKey(
                f"{JAAS}: its login module must be Plain-, Scram- or OAuthBearerLoginModule"
            )


def _jaas(config: str) -> tuple[str, dict[str, str]]:
    """The login module, and its options: `MODULE required username="…" password="…";`."""
    module, _, rest = config.strip().partition(" ")
    flag, _, rest = rest.strip().partition(" ")
    options, at = dict[str, str](), 0
    while (option := _OPTION.match(rest, at)) is not None:
        value = option[2]
        options[option[1]] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value
        at = option.end()
    if flag.rstrip(";") not in {"required", "requisite", "sufficient", "optional"}:
        raise UnsupportedKey(f'{JAAS}: it must be MODULE required NAME="VALUE" …;')
    if rest[at:].strip() not in {"", ";"}:
        raise UnsupportedKey(
            f'{JAAS}: an option is not NAME="VALUE", or more than one module is there'
        )
    return module, options


def _extends(option: str) -> bool:
    return option.startswith(_EXTENSION)


def _named(options: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(options.keys() - names.keys())
    if unknown:
        raise UnsupportedKey(f"{JAAS}: the option {unknown[0]} is not supported; remove it")
    return {names[option]: value for option, value in options.items()}


def _authorities(unread: dict[str, str]) -> dict[str, str]:
    """Whom to trust: a PEM file, a PKCS12 file, or certificates in the value."""
    store = _store(unread, "truststore")
    certificates = unread.pop("ssl.truststore.certificates", None)
    if certificates:
        return {"ssl.ca.pem": certificates}
    if store is None:
        return {}
    return (
        {"ssl.ca.location": str(store.path)}
        if store.is_pem
        else {"ssl.ca.pem": read_keystore(store).certificates}
    )


def _own_certificate(unread: dict[str, str]) -> dict[str, str]:
    """By what this client proves who it is; a PKCS12 file is also librdkafka's `ssl.keystore.location`."""
    store = _store(unread, "keystore")
    key, chain = (
        unread.pop("ssl.keystore.key", None),
        unread.pop("ssl.keystore.certificate.chain", None),
    )
    if key or chain:
        given = {"ssl.key.pem": key, "ssl.certificate.pem": chain}
        return {name: value for name, value in given.items() if value}
    if store is None:
        return {}
    if store.is_pem:
        return {name: str(store.path) for name in ("ssl.key.location", "ssl.certificate.location")}
    unread.pop("ssl.key.password", None)  # the one of a key in PKCS12 is the keystore's
    keystore = read_keystore(store)
    if not keystore.key or not keystore.certificates:
        raise UnsupportedKey(f"{store.key}: there is no private key with its certificate in it")
    return {"ssl.key.pem": keystore.key, "ssl.certificate.pem": keystore.certificates}


def _store(unread: dict[str, str], kind: str) -> "Keystore | None":
    location, password, _type = (
        unread.pop(f"ssl.{kind}.{name}", None) for name in ("location", "password", "type")
    )
    key = f"ssl.{kind}.location"
    return Keystore(key, Path(location), password or "") if location else None


def _verification(unread: dict[str, str]) -> dict[str, str]:
    """An empty algorithm is Java's way to say none; of protocols there are those that replan speaks in any case."""
    for key in ("ssl.protocol", "ssl.enabled.protocols"):
        named = [p.strip() for p in unread.get(key, "").split(",") if p.strip()]
        if key in unread and {*named} <= _PROTOCOLS:
            del unread[key]
    if unread.get("ssl.endpoint.identification.algorithm") == "":
        del unread["ssl.endpoint.identification.algorithm"]
        return {"ssl.endpoint.identification.algorithm": "none"}
    return {}


# Java's keystores: what kind a file is, and the PEM that is in a PKCS12 one. Passwords go through a pipe.

_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_BLOCKS = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)
_SECONDS = 20


class Keystore(Secretive, frozen=True):
    """A file of certificates and keys, and the property that names it."""

    key: str
    path: Path
    password: str

    @property
    def is_pem(self) -> bool:
        """Whether both clients read it as it is; raises UnsupportedKey where nobody can, or Java alone (JKS)."""
        try:
            begins = self.path.read_bytes()[:4096]
        except FileNotFoundError as problem:
            raise UnsupportedKey(f"{self.key}: there is no such file") from problem
        except OSError as problem:
            raise UnsupportedKey(f"{self.key}: cannot be read: {problem.strerror}") from problem
        if begins.startswith((_JKS, _JCEKS)):
            raise UnsupportedKey(
                f"{self.key}: a JKS file is read by Java alone; make a PKCS12 file of it, and name that:\n"
                f"  keytool -importkeystore -srckeystore {self.path} "
                f"-destkeystore {self.path.with_suffix('.p12')} -deststoretype PKCS12"
            )
        return b"-----BEGIN " in begins


class Opened(Secretive, frozen=True):
    """What is in a keystore, as PEM."""

    key: str
    """Without a password; empty where there is none."""
    certificates: str
    """All of them: that of the key, then who signed it."""


def read_keystore(store: Keystore) -> Opened:
    """Read a PKCS12 file; raises UnsupportedKey."""
    own, others = _pem(store, "-nokeys", "-clcerts"), _pem(store, "-nokeys", "-cacerts")
    return Opened(_pem(store, "-nocerts", "-nodes"), own + others)


def _pem(store: Keystore, *what: str) -> str:
    """Java of before 2021 encrypts with ciphers that OpenSSL 3 has put aside (`-legacy`)."""
    command = ["openssl", "pkcs12", "-in", str(store.path), "-passin", "stdin", *what]
    done = _run(command, store)
    if done.returncode and "unsupported" in done.stderr:
        done = _run([*command, "-legacy"], store)
    if done.returncode:
        wrong = "invalid password" in done.stderr or "mac verify" in done.stderr.lower()
        password = f"{store.key.rpartition('.')[0]}.password"
        raise UnsupportedKey(
            f"{password} does not open the file of {store.key}"
            if wrong
            else f"{store.key}: it is neither PEM nor PKCS12"
        )
    return "".join(block[0] for block in _BLOCKS.finditer(done.stdout))


def _run(command: list[str], store: Keystore) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603 - the file is one argument, and no option
            command,
            input=f"{store.password}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UnsupportedKey(
            f"{store.key}: a PKCS12 file is read by the program openssl, which cannot be run here; install it, or "
            "name a PEM file instead"
        ) from problem
