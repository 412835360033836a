"""The security keys of a properties file (librdkafka's spelling): a TLS context, and the settings of a SASL mechanism.

TLS always goes through an `ssl.SSLContext` built here, so that a wrong file shows when the properties are read and not
as a lost connection. Keys that replan cannot honour are refused by name. Values never stand in a message.
"""

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import urlsplit

from replan.kafka.property_keys import Keys, Secretive, UnsupportedKey

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105  # its name
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Security(Secretive, frozen=True):
    """How connections are secured."""

    tls: ssl.SSLContext | None
    sasl: Mapping[str, object] | None


def security(written: Mapping[str, str]) -> Security:
    """Understand security keys.

    Raises:
        UnsupportedKey: a key or value has no counterpart, or one is missing, or a file cannot be used.
    """
    keys = Keys(written)
    protocols = {name.lower(): name for name in PROTOCOLS}
    protocol = keys.choose("security.protocol", protocols, "PLAINTEXT")
    sasl = _sasl(keys, used=protocol.startswith("SASL"))
    context = tls_context(keys, used=protocol.endswith("SSL"))
    keys.refuse_rest()
    return Security(context, sasl)


def _sasl(keys: Keys, *, used: bool) -> dict[str, object] | None:
    mechanism = keys.take("sasl.mechanism")
    mechanism = keys.take("sasl.mechanisms") or mechanism  # librdkafka's own name and its alias
    if not used:
        for key in ("sasl.username", "sasl.password", "sasl.kerberos.service.name"):
            keys.take(key)
        return None
    match mechanism:
        case "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512":
            return {
                "sasl_mechanism": mechanism,
                "sasl_plain_username": keys.require("sasl.username", mechanism),
                "sasl_plain_password": keys.require("sasl.password", mechanism),
            }
        case "OAUTHBEARER":
            return _oauth(keys)
        case "GSSAPI":
            if find_spec("gssapi") is None:
                raise UnsupportedKey(
                    "sasl.mechanism=GSSAPI needs the Python package gssapi, which is not installed;"
                    " install it: pip install gssapi"
                )
            return {
                "sasl_mechanism": "GSSAPI",
                "sasl_kerberos_service_name": keys.take("sasl.kerberos.service.name") or "kafka",
            }
        case None:
            raise UnsupportedKey("sasl.mechanism is missing; security.protocol asks for SASL")
        case _:
            mechanisms = ", ".join((*PASSWORD_MECHANISMS, "OAUTHBEARER", "GSSAPI"))
            raise UnsupportedKey(f"sasl.mechanism must be one of {mechanisms}")


def _oauth(keys: Keys) -> dict[str, object]:
    from replan.kafka.tokens import TokenEndpoint, token_provider

    if (keys.take("sasl.oauthbearer.method") or "default") != "oidc":
        raise UnsupportedKey("sasl.oauthbearer.method must be oidc for OAUTHBEARER")
    if (keys.take("sasl.oauthbearer.grant.type") or "client_credentials") != "client_credentials":
        raise UnsupportedKey("sasl.oauthbearer.grant.type must be client_credentials")
    endpoint = TokenEndpoint(
        url=_token_url(keys.require(_TOKEN_URL, "OAUTHBEARER")),
        client_id=keys.require("sasl.oauthbearer.client.id", "OAUTHBEARER"),
        client_secret=keys.require("sasl.oauthbearer.client.secret", "OAUTHBEARER"),
        scope=keys.take("sasl.oauthbearer.scope"),
        ca_file=_token_authorities(keys),
    )
    extensions = _extensions(keys.take("sasl.oauthbearer.extensions") or "")
    return {
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": token_provider(endpoint, extensions),
    }


def _token_authorities(keys: Keys) -> str | None:
    """A file that is wrong shows here, and not when a token is asked for."""
    location = keys.take("https.ca.location")
    if location is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load("https.ca.location", lambda: context.load_verify_locations(cafile=location))
    return location


def _token_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UnsupportedKey(f"{_TOKEN_URL} must be an http or https address")
    return url


def _extensions(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(not name or not equals for name, equals, _ in pairs):
        raise UnsupportedKey("sasl.oauthbearer.extensions must be NAME=VALUE[,NAME=VALUE...]")
    return {name.strip(): value.strip() for name, _, value in pairs}


# TLS: whom to trust, and by what this client proves who it is.

_YES_NO = {"true": "true", "false": "false"}
_IDENTIFICATION = {"https": "https", "none": "none"}


def tls_context(keys: Keys, *, used: bool) -> ssl.SSLContext | None:
    """Take the ssl.* keys; None where the protocol is without TLS.

    Raises:
        UnsupportedKey: a file cannot be used, or a value is not known.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _verification(keys, context)
    _authorities(keys, context, used=used)
    _own_certificate(keys, context)
    _revocations(keys, context)
    ciphers = keys.take("ssl.cipher.suites")
    if ciphers is not None:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError as problem:
            raise UnsupportedKey(
                "ssl.cipher.suites names no cipher that OpenSSL knows"
            ) from problem
    return context if used else None


def _verification(keys: Keys, context: ssl.SSLContext) -> None:
    identification = keys.choose(
        "ssl.endpoint.identification.algorithm", _IDENTIFICATION, default="https"
    )
    verified = keys.choose("enable.ssl.certificate.verification", _YES_NO, default="true")
    context.check_hostname = identification == "https" and verified == "true"
    if verified == "false":
        context.verify_mode = ssl.CERT_NONE


def _authorities(keys: Keys, context: ssl.SSLContext, *, used: bool) -> None:
    location, pem = keys.take("ssl.ca.location"), keys.take("ssl.ca.pem")
    if pem is not None:
        _load("ssl.ca.pem", lambda: context.load_verify_locations(cadata=pem))
    elif location is not None and location != "probe":
        path = Path(location)
        _load(
            "ssl.ca.location",
            lambda: context.load_verify_locations(
                capath=path if path.is_dir() else None, cafile=None if path.is_dir() else path
            ),
        )
    elif used:  # it takes as long as the rest of a connection
        context.load_default_certs()


def _own_certificate(keys: Keys, context: ssl.SSLContext) -> None:
    certificate = _pem_or_file(keys, "ssl.certificate")
    key = _pem_or_file(keys, "ssl.key")
    password = keys.take("ssl.key.password")
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        present, missing = ("ssl.key", "ssl.certificate") if key else ("ssl.certificate", "ssl.key")
        raise UnsupportedKey(f"{missing}.location is missing; {present}.* needs it")
    encrypted = _is_encrypted(key)
    if encrypted and not password:
        raise UnsupportedKey(
            "ssl.key.password is missing; the private key of ssl.key.* is encrypted"
        )
    with _as_file(certificate) as chain, _as_file(key) as private:
        _load(
            "ssl.certificate.* and ssl.key.*",
            # An empty password fails on an encrypted key; None would ask at the terminal.
            lambda: context.load_cert_chain(chain, private, password=password or ""),
            encrypted=encrypted,
        )


def _is_encrypted(key: str | Path) -> bool:
    try:
        return b"ENCRYPTED" in (key.encode() if isinstance(key, str) else key.read_bytes())
    except OSError:  # loading it says why
        return False


def _revocations(keys: Keys, context: ssl.SSLContext) -> None:
    location = keys.take("ssl.crl.location")
    if location is not None:
        _load("ssl.crl.location", lambda: context.load_verify_locations(cafile=location))
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _pem_or_file(keys: Keys, prefix: str) -> str | Path | None:
    location, pem = keys.take(f"{prefix}.location"), keys.take(f"{prefix}.pem")
    if pem is not None:
        return pem
    return None if location is None else Path(location)


@contextmanager
def _as_file(source: str | Path) -> Iterator[Path]:
    """A path at which OpenSSL reads it, once; what is a value is put into memory, and on no disk where Linux runs."""
    if isinstance(source, Path):
        yield source
        return
    in_memory = hasattr(os, "memfd_create")  # Linux
    with os.fdopen(os.memfd_create("pem"), "w+b") if in_memory else TemporaryFile() as file:
        file.write(source.encode())
        file.seek(0)
        yield Path(f"/dev/fd/{file.fileno()}")


def _load(keys: str, load: Callable[[], None], *, encrypted: bool = False) -> None:
    try:
        load()
    except ssl.SSLError as problem:
        if "PEM lib" not in str(problem):
            raise UnsupportedKey(f"{keys}: cannot be used: {problem}") from problem
        raise UnsupportedKey(
            "ssl.key.password does not open the private key of ssl.key.*"
            if encrypted
            else f"{keys}: no certificate with its private key in PEM is there"
        ) from problem
    except FileNotFoundError as problem:
        raise UnsupportedKey(f"{keys}: there is no such file") from problem
    except (OSError, ValueError) as problem:
        raise UnsupportedKey(f"{keys}: cannot be used: {problem}") from problem


# The certificate by which this client proves who it is: its owner, and until when it is valid. No secrets.

_SHORT = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


def is_given(keys: Mapping[str, str]) -> bool:
    """Whether the client properties name one."""
    return "ssl.certificate.location" in keys or "ssl.certificate.pem" in keys


def subject_of(keys: Mapping[str, str]) -> str | None:
    """Its owner as X500Principal.getName writes it (RFC 2253: the last part first); None where it cannot be read."""
    parts = [part for level in _decoded(keys).get("subject", ()) for part in level]
    names = (f"{_SHORT.get(key, key)}={_escaped(value)}" for key, value in reversed(parts))
    return ",".join(names) if parts else None


def valid_until(keys: Mapping[str, str]) -> float | None:
    """Its end, as seconds of the wall clock; None where it cannot be read."""
    end = _decoded(keys).get("notAfter")
    return None if end is None else float(ssl.cert_time_to_seconds(end))


def _decoded(keys: Mapping[str, str]) -> dict[str, Any]:
    """As `SSLSocket.getpeercert` has it, by CPython's own decoder: empty where there is none, or it reads nothing."""
    location = keys.get("ssl.certificate.location", "")
    decode: Any = getattr(getattr(ssl, "_ssl", None), "_test_decode_cert", None)
    with (
        suppress(OSError, ValueError, TypeError, KeyError),
        _as_file(Path(location) if location else keys["ssl.certificate.pem"]) as path,
    ):
        return dict(decode(str(path)))
    return {}


def _escaped(value: str) -> str:
    return "".join(f"\\{c}" if c in ',+"\\<>;' else c for c in value)
