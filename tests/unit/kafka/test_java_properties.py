"""Files that Kafka's own tools take: the Java client's spelling is understood as librdkafka's is, for both clients."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.kafka.conftest import OPENER

from replan.errors import BadFile
from replan.kafka.api import ClientProperties, client_properties

MODULES = "org.apache.kafka.common.security"
PLAIN = f"{MODULES}.plain.PlainLoginModule required"
OAUTH = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required"
SECRET = "secret-word"  # noqa: S105


def read(folder: Path, *lines: str) -> ClientProperties:
    file = folder / "client.properties"
    file.write_text("\n".join(lines))
    return client_properties("kafka-1:9092", file)


def refused(folder: Path, *lines: str) -> str:
    with pytest.raises(BadFile) as raised:
        read(folder, *lines)
    said = str(raised.value)
    assert SECRET not in said
    return said


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_the_user_and_the_password_of_a_login_module_serve_both_clients(
    tmp_path: Path, mechanism: str
) -> None:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    found = read(
        tmp_path,
        "security.protocol=SASL_PLAINTEXT",
        f"sasl.mechanism={mechanism}",
        f"sasl.jaas.config={MODULES}.{module}LoginModule required \\",
        '  username="ann" \\',
        f'  password="{SECRET}\\"; x=\\\\";',
    )

    password = f'{SECRET}"; x=\\'
    assert found.sasl == {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "ann",
        "sasl_plain_password": password,
    }
    assert found.librdkafka["sasl.username"] == "ann"
    assert found.librdkafka["sasl.password"] == password
    assert "sasl.jaas.config" not in found.librdkafka
    assert SECRET not in repr(found)


def test_a_token_of_javas_spelling_is_asked_for_with_the_same_words(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=OAUTHBEARER",
        f"sasl.login.callback.handler.class={MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:1/token",
        f'sasl.jaas.config={OAUTH} clientId=me clientSecret=\'no\' scope="kafka" extension_pool="p1";',
    )

    spelt = {k: v for k, v in found.librdkafka.items() if k.startswith("sasl.oauthbearer.")}
    assert spelt == {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "'no'",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "pool=p1",
    }


def test_of_an_option_that_is_written_twice_the_last_counts_as_in_java(tmp_path: Path) -> None:
    """Kafka's JaasConfig puts each option of a login module into a HashMap."""
    found = read(
        tmp_path,
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        f'sasl.jaas.config={PLAIN} username="ann" password="{SECRET}" username="bob";',
    )

    assert found.librdkafka["sasl.username"] == "bob"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (f"{MODULES}.plain.PlainLoginModule", "it must be MODULE required NAME"),
        (f'{PLAIN} username="ann" {SECRET};', "an option is not NAME"),
        (f'{PLAIN} username="ann" nickname="{SECRET}";', "the option nickname is not supported"),
        (f"com.acme.Login required word={SECRET};", "its login module must be Plain-, Scram- or"),
        (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;",
            "a Krb5LoginModule is not read; log in with `kinit`",
        ),
    ],
)
def test_a_login_that_cannot_be_understood_is_refused_without_its_secret(
    tmp_path: Path, config: str, said: str
) -> None:
    head = "security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN"

    assert f"sasl.jaas.config: {said}" in refused(tmp_path, *head, f"sasl.jaas.config={config}")


def test_a_password_in_both_spellings_is_refused(tmp_path: Path) -> None:
    said = refused(
        tmp_path,
        f"sasl.password={SECRET}",
        f'sasl.jaas.config={PLAIN} username="ann" password="{SECRET}";',
    )

    assert "sasl.password is there in the Java client's spelling, too" in said


@pytest.fixture
def keystore(pem: Path, tmp_path: Path) -> Path:
    """A PKCS12 file with a key, its certificate, and nothing else."""
    made = tmp_path / "own.p12"
    asked: tuple[str, ...] = ("openssl", "pkcs12", "-export", "-inkey", "key.pem", "-in", "ca.pem")
    asked = *asked, "-out", str(made), "-passout", f"pass:{SECRET}"
    subprocess.run(asked, cwd=pem, check=True, capture_output=True)
    return made


@pytest.mark.parametrize("kind", [(), ("ssl.keystore.type=PKCS12",)])
def test_a_pkcs12_file_is_opened_for_both_clients(
    tmp_path: Path, keystore: Path, kind: tuple[str, ...]
) -> None:
    """Its type is in the file; librdkafka's spelling has none."""
    found = read(
        tmp_path,
        "security.protocol=SSL",
        f"ssl.keystore.location={keystore}",
        f"ssl.keystore.password={SECRET}",
        f"ssl.truststore.location={keystore}",
        f"ssl.truststore.password={SECRET}",
        *kind,
    )

    assert found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1
    assert found.librdkafka["ssl.key.pem"].startswith("-----BEGIN PRIVATE KEY-----\n")
    assert found.librdkafka["ssl.certificate.pem"].startswith("-----BEGIN CERTIFICATE-----\n")
    assert not any(key.startswith("ssl.keystore") for key in found.librdkafka)
    assert "PRIVATE" not in repr(found)


def test_the_key_of_a_keystore_is_written_to_no_disk(tmp_path: Path, keystore: Path) -> None:
    """It has no password any more."""
    file = tmp_path / "client.properties"
    file.write_text(
        f"security.protocol=SSL\nssl.keystore.location={keystore}\nssl.keystore.password={SECRET}\n"
    )
    program = """
import os, sys
from pathlib import Path
from replan.kafka.client_properties import client_properties, principal_of
def written(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        print(arguments[0])
sys.dont_write_bytecode = True
sys.addaudithook(written)
print(principal_of(client_properties("kafka1:9093", Path(sys.argv[1]))))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["User:CN=replan"]


def test_pem_in_javas_spelling_is_a_file_or_a_value(pem: Path, tmp_path: Path) -> None:
    together = tmp_path / "own.pem"
    together.write_text((pem / "encrypted.pem").read_text() + (pem / "ca.pem").read_text())
    found = read(
        tmp_path,
        "security.protocol=SSL",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={together}",
        f"ssl.key.password={OPENER}",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.certificates={(pem / 'ca.pem').read_text().replace(chr(10), chr(92) + 'n')}",
        "ssl.enabled.protocols=TLSv1.2,TLSv1.3",
        "ssl.endpoint.identification.algorithm=",
    )

    assert found.tls is not None
    assert (len(found.tls.get_ca_certs()), found.tls.check_hostname) == (1, False)
    assert found.librdkafka["ssl.key.location"] == str(together)
    assert found.librdkafka["ssl.ca.pem"].count("\n") > 5


def test_a_keystore_that_cannot_be_read_says_why_and_the_way_out(
    tmp_path: Path, keystore: Path
) -> None:
    jks = tmp_path / "trust.jks"
    jks.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    trusts = f"ssl.truststore.location={jks}"
    neither = tmp_path / "notes.txt"
    neither.write_text("no keystore")

    assert (
        f"keytool -importkeystore -srckeystore {jks} -destkeystore {tmp_path}/trust.p12 -deststoretype PKCS12"
    ) in refused(tmp_path, "security.protocol=SSL", trusts)
    assert "ssl.keystore.password does not open the file of ssl.keystore.location" in refused(
        tmp_path, f"ssl.keystore.location={keystore}", "ssl.keystore.password=other"
    )
    assert "ssl.truststore.location: it is neither PEM nor PKCS12" in refused(
        tmp_path, f"ssl.truststore.location={neither}"
    )
    assert "ssl.truststore.location: there is no such file" in refused(
        tmp_path, "ssl.truststore.location=/nowhere.p12"
    )
