"""librdkafka's security keys, understood: a TLS context, and the settings of a SASL mechanism. The rest is refused by
name.

TLS always goes through an `ssl.SSLContext` built here, so that a wrong file shows when the properties are
read and not as a lost connection. Values never stand in a message.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit

from replan.kafka.properties.keys import Keys, UnsupportedKey
from replan.kafka.properties.tls import tls_context

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105  # its name
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are secured."""

    tls: ssl.SSLContext | None
    sasl: Mapping[str, object] | None = field(repr=False)


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
            known = ", ".join((*PASSWORD_MECHANISMS, "OAUTHBEARER", "GSSAPI"))
            raise UnsupportedKey(f"sasl.mechanism must be one of {known}")


def _oauth(keys: Keys) -> dict[str, object]:
    from replan.kafka.properties.tokens import TokenEndpoint, token_provider

    if (keys.take("sasl.oauthbearer.method") or "default") != "oidc":
        raise UnsupportedKey("sasl.oauthbearer.method must be oidc for OAUTHBEARER")
    if (keys.take("sasl.oauthbearer.grant.type") or "client_credentials") != "client_credentials":
        raise UnsupportedKey("sasl.oauthbearer.grant.type must be client_credentials")
    endpoint = TokenEndpoint(
        url=_token_url(keys.require(_TOKEN_URL, "OAUTHBEARER")),
        client_id=keys.require("sasl.oauthbearer.client.id", "OAUTHBEARER"),
        client_secret=keys.require("sasl.oauthbearer.client.secret", "OAUTHBEARER"),
        scope=keys.take("sasl.oauthbearer.scope"),
        ca_file=keys.take("https.ca.location"),
    )
    extensions = _extensions(keys.take("sasl.oauthbearer.extensions") or "")
    return {
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": token_provider(endpoint, extensions),
    }


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
