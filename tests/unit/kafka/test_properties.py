"""A client properties file, in librdkafka's spelling, turned into the settings of both clients."""

from pathlib import Path
from typing import Any

import pytest
from rich.pretty import pretty_repr

from replan.errors import BadFile, BadUsage
from replan.kafka.api import (
    Address,
    ClientProperties,
    client_properties,
)

HIDDEN = "correct-horse-battery"
PLAIN = f"""
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.username=replan
sasl.password={HIDDEN}
"""


OAUTH = "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.method=oidc\n"


def read(tmp_path: Path, text: str) -> ClientProperties:
    file = tmp_path / "client.properties"
    file.write_text(text)
    return client_properties("kafka1:9092", file)


def test_without_a_file_the_connection_is_plain() -> None:
    found = client_properties("kafka1:9092, kafka2:9093,[::1]:9094", None)

    assert found.addresses == (
        Address("kafka1", 9092),
        Address("kafka2", 9093),
        Address("::1", 9094),
    )
    assert [str(address) for address in found.addresses] == [
        "kafka1:9092",
        "kafka2:9093",
        "[::1]:9094",
    ]
    assert (found.client_id, found.tls, found.sasl) == ("replan", None, None)


def test_the_addresses_of_the_command_line_win_over_those_of_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, "bootstrap.servers=elsewhere:1\n")

    assert found.addresses == (Address("kafka1", 9092),)


def test_lines_are_read_as_java_reads_them(tmp_path: Path) -> None:
    found = read(
        tmp_path, "# comment\r\n\r\n! another\r\n  client.id = drift = job \r\nlinger.ms=5\r\n"
    )

    assert found.client_id == "drift = job"
    assert (found.tls, found.sasl) == (None, None)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("security.protocol=plaintext", None),
        (
            PLAIN,
            {
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "replan",
                "sasl_plain_password": HIDDEN,
            },
        ),
        (
            PLAIN.replace("sasl.mechanism=PLAIN", "sasl.mechanisms=SCRAM-SHA-512"),
            {
                "sasl_mechanism": "SCRAM-SHA-512",
                "sasl_plain_username": "replan",
                "sasl_plain_password": HIDDEN,
            },
        ),
        # What the protocol does not use is allowed, as it is in librdkafka.
        (PLAIN.replace("SASL_PLAINTEXT", "PLAINTEXT"), None),
    ],
    ids=["any case", "plain", "scram by librdkafka's name", "sasl that is not used"],
)
def test_security_keys_are_mapped(
    tmp_path: Path, lines: str, expected: dict[str, object] | None
) -> None:
    assert read(tmp_path, lines).sasl == expected


def test_tls_comes_as_a_context_that_verifies_names(tmp_path: Path) -> None:
    context = read(tmp_path, "security.protocol=SSL\n").tls

    assert getattr(context, "check_hostname", None) is True


def test_a_token_provider_is_made_for_oauth(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.method=oidc\n"
        "sasl.oauthbearer.token.endpoint.url=https://id.example/token\n"
        "sasl.oauthbearer.client.id=replan\n"
        f"sasl.oauthbearer.client.secret={HIDDEN}\n"
        "sasl.oauthbearer.scope=kafka\nsasl.oauthbearer.extensions=logicalCluster=a,pool=b\n",
    ).sasl

    assert found is not None
    assert found["sasl_mechanism"] == "OAUTHBEARER"
    provider: Any = found["sasl_oauth_token_provider"]
    assert provider.extensions() == {"logicalCluster": "a", "pool": "b"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "security.protocol=TLS",
            "security.protocol must be one of plaintext, ssl, sasl_plaintext, sasl_ssl",
        ),
        (
            "security.protocol=SSL\nssl.engine.location=/usr/lib/pkcs11.so",
            "ssl.engine.location is not supported, and a security key is never ignored",
        ),
        (
            "security.protocol=SASL_SSL",
            "sasl.mechanism is missing; security.protocol asks for SASL",
        ),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM",
            "sasl.mechanism must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI",
        ),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me",
            "sasl.password is missing; PLAIN needs it",
        ),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER",
            "sasl.oauthbearer.method must be oidc for OAUTHBEARER",
        ),
        (
            "security.protocol=SSL\nssl.ca.location=/nowhere/ca.pem",
            "ssl.ca.location: there is no such file",
        ),
        (
            "security.protocol=SSL\nssl.endpoint.identification.algorithm=dns",
            "ssl.endpoint.identification.algorithm must be one of https, none",
        ),
        (
            "security.protocol=SSL\nssl.key.location=/etc/key.pem",
            "ssl.certificate.location is missing; ssl.key.* needs it",
        ),
        (
            "security.protocol=SSL\nssl.cipher.suites=ROT13",
            "ssl.cipher.suites names no cipher that OpenSSL knows",
        ),
        (
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=k",
            (
                "sasl.mechanism=GSSAPI needs the Python package gssapi, which is not installed;"
                " install it: pip install gssapi"
            ),
        ),
        *(
            (
                f"{OAUTH}sasl.oauthbearer.token.endpoint.url={url}",
                "sasl.oauthbearer.token.endpoint.url must be an http or https address",
            )
            for url in (
                "not a url",
                "file:///etc/passwd",
                "https://",
                "http://[::1",
                "http://id:port",
            )
        ),
        ("SECURITY.PROTOCOL=SSL", "SECURITY.PROTOCOL is no property; write security.protocol"),
        ("security_protocol=SSL", "security_protocol is no property; write security.protocol"),
        ("transactional.id=mine", "transactional.id does not belong here; remove the line"),
    ],
)
def test_what_cannot_be_mapped_is_refused_by_name(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(BadFile) as refused:
        read(tmp_path, lines)

    assert str(refused.value) == f"{tmp_path / 'client.properties'}: {message}"
    assert HIDDEN not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("client.id=a\nnonsense\n", ":2", "not KEY=VALUE"),
        ("=value\n", ":1", "not KEY=VALUE"),
        ("client.id=a\n\nclient.id=b\n", ":3", "client.id stands twice; keep one of them"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    tmp_path: Path, text: str, place: str, message: str
) -> None:
    with pytest.raises(BadFile) as refused:
        read(tmp_path, text)

    assert str(refused.value) == f"{tmp_path / 'client.properties'}{place}: {message}"


def test_a_byte_order_mark_hides_no_key(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffsecurity.protocol=SSL\n").tls is not None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"missing\.properties: cannot be read: .*No such file"):
        client_properties("kafka1:9092", tmp_path / "missing.properties")


@pytest.mark.parametrize(
    ("bootstrap", "message"),
    [
        ("", "--bootstrap-server: no address; give HOST:PORT[,HOST:PORT...]"),
        ("kafka1", "--bootstrap-server: 'kafka1' is not HOST:PORT"),
        ("kafka1:9092,kafka2:", "--bootstrap-server: 'kafka2:' is not HOST:PORT"),
        ("kafka1:99999", "--bootstrap-server: 'kafka1:99999' is not HOST:PORT"),
        (":9092", "--bootstrap-server: ':9092' is not HOST:PORT"),
        *(
            (text, f"--bootstrap-server: {text!r} is not HOST:PORT[,HOST:PORT...]")
            for text in ("http://kafka1:9092", "kafka1:9092;kafka2:9092", "kafka1:9092 kafka2:9092")
        ),
        (
            "::1:9092",
            "--bootstrap-server: '::1:9092' could be read in two ways; write [::1]:9092 for an IPv6 address",
        ),
    ],
)
def test_an_address_must_be_host_and_port(bootstrap: str, message: str) -> None:
    with pytest.raises(BadUsage) as refused:
        client_properties(bootstrap, None)

    assert str(refused.value) == message


def test_secrets_do_not_show(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN)

    assert HIDDEN not in repr(found)
    assert HIDDEN not in str(found)
    assert repr(found) == "ClientProperties(...)"
    assert HIDDEN not in pretty_repr(found)
