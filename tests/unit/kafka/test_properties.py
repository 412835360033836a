"""A client properties file, in librdkafka's spelling, turned into the settings of both clients."""

from pathlib import Path
from typing import Any

import pytest
from rich.pretty import pretty_repr
from tests.goldens import check_cases

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


def test_an_address_that_is_given_twice_is_one() -> None:
    """Where all addresses refuse, the command ends at once; each is counted once."""
    assert len(client_properties("kafka1:9092, kafka1:9092,kafka2:9092", None).addresses) == 2


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


REFUSED = [
    "security.protocol=TLS",
    "security.protocol=SSL\nssl.engine.location=/usr/lib/pkcs11.so",
    "security.protocol=SASL_SSL",
    "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM",
    "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me",
    "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER",
    "security.protocol=SSL\nssl.ca.location=/nowhere/ca.pem",
    "security.protocol=SSL\nssl.endpoint.identification.algorithm=dns",
    "security.protocol=SSL\nssl.key.location=/etc/key.pem",
    "security.protocol=SSL\nssl.cipher.suites=ROT13",
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=k",
    *(
        f"{OAUTH}sasl.oauthbearer.token.endpoint.url={url}"
        for url in ("not a url", "file:///etc/passwd", "https://", "http://[::1", "http://id:port")
    ),
    (
        f"{OAUTH}sasl.oauthbearer.token.endpoint.url=https://id/\nsasl.oauthbearer.client.id=replan\n"
        "sasl.oauthbearer.client.secret=hush\nhttps.ca.location=/nowhere/ca.pem"
    ),
    "SECURITY.PROTOCOL=SSL",
    "security_protocol=SSL",
    "transactional.id=mine",
    "client.id=a\nnonsense\n",
    "=value\n",
    "client.id=a\n\nclient.id=b\n",
]
NO_ADDRESS = [
    "",
    "kafka1",
    "kafka1:9092,kafka2:",
    "kafka1:99999",
    ":9092",
    "http://kafka1:9092",
    "kafka1:9092;kafka2:9092",
    "kafka1:9092 kafka2:9092",
    "::1:9092",
]


def test_what_cannot_be_mapped_is_refused_by_name(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    for lines in REFUSED:
        with pytest.raises(BadFile) as refused:
            read(tmp_path, lines)
        told.append(
            (lines.strip().replace("\n", " | "), str(refused.value).removeprefix(f"{tmp_path}/"))
        )
    for bootstrap in NO_ADDRESS:
        with pytest.raises(BadUsage) as wrong:
            client_properties(bootstrap, None)
        told.append((f"--bootstrap-server '{bootstrap}'", str(wrong.value)))
    check_cases(Path(__file__).parent / "goldens" / "properties.txt", told)


@pytest.mark.parametrize(
    "line",
    [
        f"sasl.password={HIDDEN}",
        f"nonsense {HIDDEN}",
        f"={HIDDEN}",
        f"ssl.key.password: {HIDDEN}==",
        f"ssl.key.password {HIDDEN}=",
    ],
)
def test_a_refusal_shows_no_secret(tmp_path: Path, line: str) -> None:
    with pytest.raises(BadFile) as refused:
        read(tmp_path, f"{PLAIN}{line}")
    assert HIDDEN not in str(refused.value)


def test_a_byte_order_mark_hides_no_key(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffsecurity.protocol=SSL\n").tls is not None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"missing\.properties: cannot be read: .*No such file"):
        client_properties("kafka1:9092", tmp_path / "missing.properties")


def test_secrets_do_not_show(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN)

    assert HIDDEN not in repr(found)
    assert HIDDEN not in str(found)
    assert repr(found) == "ClientProperties(...)"
    assert HIDDEN not in pretty_repr(found)
