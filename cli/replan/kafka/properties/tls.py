"""The TLS settings of a properties file as an `ssl.SSLContext`."""

import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path

from replan.kafka.properties.keys import Keys, UnsupportedKey

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
        _load("ssl.ca.pem", lambda: context.load_verify_locations(cadata=_with_newlines(pem)))
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
    with tempfile.TemporaryDirectory(prefix="replan-tls-") as folder:  # mode 0700
        chain = _as_file(certificate, Path(folder) / "certificate.pem")
        private = _as_file(key, Path(folder) / "key.pem")
        _check_password(private, password)
        _load(
            "ssl.certificate.* and ssl.key.*",
            # An empty password fails on an encrypted key; None would ask at the terminal.
            lambda: context.load_cert_chain(chain, private, password=password or ""),
            encrypted=_is_encrypted(private),
        )


def _check_password(key: Path, password: str | None) -> None:
    if not password and _is_encrypted(key):
        raise UnsupportedKey(
            "ssl.key.password is missing; the private key of ssl.key.* is encrypted"
        )


def _is_encrypted(key: Path) -> bool:
    try:
        return b"ENCRYPTED" in key.read_bytes()
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
        return _with_newlines(pem)
    return None if location is None else Path(location)


def _as_file(source: str | Path, spare: Path) -> Path:
    if isinstance(source, Path):
        return source
    spare.write_text(source, encoding="ascii")
    return spare


def _with_newlines(pem: str) -> str:
    """PEM on one line of a properties file writes its line ends as backslash n."""
    return pem.replace("\\n", "\n")


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
