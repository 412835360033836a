"""As whom brokers know a client, by its own properties; and whose certificate a failure of TLS is about."""

import base64
import json
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError

from replan.kafka.api import (
    ANONYMOUS,
    DESCRIBE_QUORUM,
    CertificateProblem,
    ClientProperties,
    client_properties,
    explained_refusal,
    principal_of,
    refused_certificate,
    retriable,
    valid_until,
)


class Given:
    """A token provider with one token."""

    def __init__(self, token: str) -> None:
        self.given = token

    def token(self) -> str:
        if not self.given:
            raise KafkaConnectionError("no token")
        return self.given


def by(sasl: dict[str, Any] | None, **keys: str) -> str:
    given = {key.replace("_", "."): value for key, value in keys.items()}
    return principal_of(ClientProperties((), sasl=sasl, librdkafka=given))


def token(claims: dict[str, str]) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.sig"


def test_a_user_has_the_name_that_it_proves() -> None:
    assert by(None) == ANONYMOUS
    assert by({"sasl_plain_username": "ann", "sasl_plain_password": "hush"}) == "User:ann"
    assert "Kerberos" in by({"sasl_mechanism": "GSSAPI"})


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (token({"sub": "ann", "iss": "https://id.example"}), "User:ann"),
        (token({"azp": "ann"}), "the client deploy of the token endpoint"),
        ("opaque", "the client deploy of the token endpoint"),
        ("", "the client deploy of the token endpoint"),
    ],
)
def test_a_token_names_its_subject_where_it_can_be_read(given: str, name: str) -> None:
    provider = {"sasl_oauth_token_provider": Given(given)}
    assert by(provider, sasl_oauthbearer_client_id="deploy") == name


def test_a_certificate_names_its_subject_as_java_writes_it(tmp_path: Path) -> None:
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/O=Ann, Bob/OU=ops/CN=deploy", "-keyout", "own.key", "-out", "own.pem"]
    subprocess.run(["openssl", *made, *names], cwd=tmp_path, check=True, capture_output=True)
    pem, key = tmp_path / "own.pem", tmp_path / "own.key"
    lines = [f"ssl.certificate.location={pem}", f"ssl.key.location={key}"]
    inline = [
        f"ssl.{name}.pem=" + file.read_text().replace("\n", "\\n")
        for name, file in (("certificate", pem), ("key", key))
    ]
    for written in (lines, inline):
        file = tmp_path / "client.properties"
        file.write_text("\n".join(["security.protocol=SSL", *written]))
        properties = client_properties("127.0.0.1:1", file)
        assert principal_of(properties) == "User:CN=deploy,OU=ops,O=Ann\\, Bob"
        assert valid_until(properties.librdkafka) is not None
    assert valid_until({}) is None


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (9, CertificateProblem.NOT_YET_VALID),
        (10, CertificateProblem.EXPIRED),
        (18, CertificateProblem.NOT_TRUSTED),
        (20, CertificateProblem.NOT_TRUSTED),
        (62, CertificateProblem.OTHER_NAME),
        (64, CertificateProblem.OTHER_NAME),
    ],
)
def test_what_is_wrong_with_a_brokers_certificate_is_known_and_asking_again_is_no_help(
    code: int, problem: CertificateProblem
) -> None:
    failure = ssl.SSLCertVerificationError(1, "said")
    failure.verify_code, failure.verify_message = code, "as OpenSSL says"
    refused = refused_certificate(failure)
    assert refused is not None
    assert refused.problem is problem
    assert not retriable(refused)
    assert "as OpenSSL says" in str(explained_refusal(DESCRIBE_QUORUM, refused))


def test_a_failure_that_is_about_no_certificate_may_pass() -> None:
    assert refused_certificate(ConnectionResetError(104, "reset")) is None
    assert refused_certificate(ssl.SSLError(1, "wrong version number")) is None
