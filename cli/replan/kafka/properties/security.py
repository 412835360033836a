"""librdkafka's security keys, mapped to kafka-python's; what cannot be mapped is refused by name.

TLS always goes through an `ssl.SSLContext` built here, so that a wrong file shows when the properties are
read and not as a lost connection. Values never stand in a message.
"""

import ssl
from collections.abc import Mapping

from replan.kafka.properties.keys import Keys, UnsupportedKey
from replan.kafka.properties.tls import tls_context

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def kafka_python_security(written: Mapping[str, str]) -> dict[str, object]:
    """Map security keys to kafka-python's settings.

    Raises:
        UnsupportedKey: a key or value has no counterpart, or one is missing, or a file cannot be used.
    """
    keys = Keys(written)
    protocols = {name.lower(): name for name in PROTOCOLS}
    protocol = keys.choose("security.protocol", protocols, "PLAINTEXT")
    sasl = _sasl(keys, used=protocol.startswith("SASL"))
    context = tls_context(keys, used=protocol.endswith("SSL"))
    keys.refuse_rest()
    return {"security_protocol": protocol, **sasl, **_tls(context)}


def _tls(context: ssl.SSLContext | None) -> dict[str, object]:
    return {} if context is None else {"ssl_context": context}


def _sasl(keys: Keys, *, used: bool) -> dict[str, object]:
    mechanism = keys.take("sasl.mechanism")
    mechanism = keys.take("sasl.mechanisms") or mechanism  # librdkafka's own name and its alias
    if not used:
        return _unused_sasl(keys)
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
            return {
                "sasl_mechanism": "GSSAPI",
                "sasl_kerberos_service_name": keys.take("sasl.kerberos.service.name") or "kafka",
            }
        case None:
            raise UnsupportedKey("sasl.mechanism is missing; security.protocol asks for SASL")
        case _:
            known = ", ".join((*PASSWORD_MECHANISMS, "OAUTHBEARER", "GSSAPI"))
            raise UnsupportedKey(f"sasl.mechanism must be one of {known}")


def _unused_sasl(keys: Keys) -> dict[str, object]:
    for key in ("sasl.username", "sasl.password", "sasl.kerberos.service.name"):
        keys.take(key)
    return {}


def _oauth(keys: Keys) -> dict[str, object]:
    from replan.kafka.properties.tokens import TokenEndpoint, token_provider

    if (keys.take("sasl.oauthbearer.method") or "default") != "oidc":
        raise UnsupportedKey("sasl.oauthbearer.method must be oidc for OAUTHBEARER")
    if (keys.take("sasl.oauthbearer.grant.type") or "client_credentials") != "client_credentials":
        raise UnsupportedKey("sasl.oauthbearer.grant.type must be client_credentials")
    endpoint = TokenEndpoint(
        url=keys.require("sasl.oauthbearer.token.endpoint.url", "OAUTHBEARER"),
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


def _extensions(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(not name or not equals for name, equals, _ in pairs):
        raise UnsupportedKey("sasl.oauthbearer.extensions must be NAME=VALUE[,NAME=VALUE...]")
    return {name.strip(): value.strip() for name, _, value in pairs}
