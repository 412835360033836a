"""The producers of the journal topic, without a cluster."""

import pytest

from replan.errors import BadFile
from replan.kafka.api import producer_of


def test_properties_that_librdkafka_cannot_use_are_refused_by_name() -> None:
    """`https.ca.location` is used when a token is fetched; librdkafka looks at it sooner."""
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "replan",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
        "https.ca.location": "/absent/ca.pem",
    }

    with pytest.raises(BadFile, match=r"journal topic: .*https\.ca\.location") as refused:
        producer_of(settings, {})

    assert "hush" not in str(refused.value)
