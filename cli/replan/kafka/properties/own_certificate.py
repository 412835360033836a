"""The certificate by which this client proves who it is: its owner, and until when it is valid. No secrets."""

import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

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
        tempfile.TemporaryDirectory() as folder,
    ):
        path = Path(location or Path(folder) / "certificate.pem")
        if not location:
            path.write_text(keys["ssl.certificate.pem"], encoding="ascii")
        return dict(decode(str(path)))
    return {}


def _escaped(value: str) -> str:
    return "".join(f"\\{c}" if c in ',+"\\<>;' else c for c in value)
