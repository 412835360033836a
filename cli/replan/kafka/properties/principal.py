"""As whom Kafka's brokers know a client, as far as its own properties say: no request asks them.

The name is that of the default principal builder (DefaultKafkaPrincipalBuilder); a broker may map it to another one
(ssl.principal.mapping.rules, sasl.kerberos.principal.to.local.rules).
"""

import base64
import json
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaError

from replan.kafka.properties.client_properties import ClientProperties
from replan.kafka.properties.tls import is_given, subject_of

ANONYMOUS = "User:ANONYMOUS"


def principal_of(properties: ClientProperties) -> str:
    """`User:NAME`, or words for one that cannot be known here."""
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
