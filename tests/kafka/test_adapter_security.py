"""TLS, passwords and ACLs against a real broker, through the properties file that configures both clients."""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from tests.commandline import replan
from tests.http_servers import served
from tests.kafka.harness import clients
from tests.kafka.secured import SCRAM_WORD, Secured, word_of

from replan.applying.api import SavedRate
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.api import (
    KafkaControlPlane,
    Reads,
    SystemClock,
    client_properties,
    connect,
    of_topics,
    open_cluster,
    rates_question,
    take_ownership,
)
from replan.model.api import (
    JOURNAL_TOPIC,
    LEADER_RATE,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    ElectionType,
    Rejected,
    Snapshot,
    TopicPartition,
    Wanted,
    broker_change,
    is_internal,
    replicas,
)

CHANGE = broker_change(BrokerId(1), LEADER_RATE, ConfigOperation.SET, "1000000")


@contextmanager
def token_endpoint(token: str) -> Iterator[str]:
    """The address of an endpoint that gives everybody this token."""

    class Issuer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the base class's spelling
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"access_token": token, "expires_in": 3600}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")  # librdkafka insists
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with served(Issuer) as address:
        yield address


def topics_of(snapshot: Snapshot) -> list[str]:
    """All but internal ones, which other tests make."""
    return [name for name in snapshot.topics.column("name").to_pylist() if not is_internal(name)]


def opened(secured: Secured, file: Path) -> KafkaControlPlane:
    """Connect as the file says."""
    return open_cluster(secured.bootstrap, file, timeout_seconds=10)


def test_a_client_without_a_certificate_is_turned_away(secured: Secured, tmp_path: Path) -> None:
    file = secured.properties(tmp_path, "none", "none", security_protocol="SSL")

    with pytest.raises(ClusterRefused, match="wants a certificate of this client"):
        open_cluster(secured.listener("MUTUAL"), file, timeout_seconds=2)


@pytest.mark.parametrize(
    ("listener", "name", "said"),
    [
        ("EXPIRED", "replan", "the broker's certificate has expired: "),
        ("MUTUAL", "expired", "the certificate of this client has expired: "),
        ("MUTUAL", "stranger", "the cluster does not trust the certificate of this client: "),
    ],
)
def test_whose_certificate_is_not_accepted_and_why_is_said_at_once(
    secured: Secured, tmp_path: Path, listener: str, name: str, said: str
) -> None:
    with pytest.raises(ClusterRefused) as refused:
        open_cluster(
            secured.listener(listener), secured.by_certificate(tmp_path, name), timeout_seconds=10
        )
    assert str(refused.value).startswith(said)


def test_a_token_proves_who_asks(secured: Secured, tmp_path: Path) -> None:
    """One that nobody signed, which brokers accept unless they are given somebody to ask."""
    now = int(time.time())
    parts = {"alg": "none"}, {"sub": "boss", "iat": now, "exp": now + 3600}
    encoded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    ]
    with token_endpoint(f"{'.'.join(encoded)}.") as url:
        file = tmp_path / "token.properties"
        file.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.method=oidc\n"
            f"sasl.oauthbearer.token.endpoint.url={url}\nsasl.oauthbearer.client.id=replan\n"
            f"sasl.oauthbearer.client.secret=word\nssl.ca.location={secured.authority}\n"
        )
        with opened(secured, file) as connected:
            assert "orders" in topics_of(connected.observe())
            assert connected.access((), ()).principal == "User:boss"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_reported_at_once_and_not_repeated(
    secured: Secured, tmp_path: Path, mechanism: str
) -> None:
    file = secured.properties(tmp_path, "boss", "wrong-word", sasl_mechanism=mechanism)
    with pytest.raises(ClusterRefused) as refused:
        opened(secured, file)

    assert str(refused.value).startswith("the cluster does not accept these credentials: ")
    assert str(refused.value).endswith(
        "\n  check security.protocol and the sasl.* keys of the client properties"
    )
    assert "wrong-word" not in str(refused.value)


def test_a_certificate_that_is_not_trusted_is_named_at_once_with_the_key_that_helps(
    secured: Secured, tmp_path: Path
) -> None:
    file = secured.properties(tmp_path, "boss", word_of("boss"), ssl_ca_location="probe")

    with pytest.raises(ClusterRefused) as refused:
        opened(secured, file)

    assert str(refused.value).startswith("the broker's certificate is not trusted: self-signed")
    assert "ssl.ca.location" in str(refused.value)


def test_a_plain_connection_to_a_secured_listener_gets_the_advice_to_check_the_protocol(
    secured: Secured,
) -> None:
    with pytest.raises(ClusterUnreachable, match=r"security\.protocol is the one of that listener"):
        open_cluster(secured.bootstrap, None, timeout_seconds=1)


def test_what_a_user_may_not_read_names_the_acl(secured: Secured, tmp_path: Path) -> None:
    with opened(secured, secured.properties(tmp_path, "reader", word_of("reader"))) as connected:
        with pytest.raises(ClusterRefused) as refused:
            connected.look(Wanted())
        assert str(refused.value).startswith(
            "ListPartitionReassignments is not permitted: CLUSTER_AUTHORIZATION_FAILED (31): "
        )
        assert "this user needs the ACL Describe on Cluster" in str(refused.value)

        with pytest.raises(ClusterRefused, match="Describe on Cluster"):
            connected.log_dirs()


def test_configurations_that_a_user_may_not_read_name_the_acl(
    secured: Secured, tmp_path: Path
) -> None:
    file, clock = secured.properties(tmp_path, "reader", word_of("reader")), SystemClock()
    wire = connect(client_properties(secured.bootstrap, file), clock.interrupt, limit_seconds=10)
    reads = Reads(wire, clock, patience_seconds=3)
    try:
        assert of_topics(reads, ["orders"])["orders"].is_unread
        asked = rates_question(reads, BrokerId(1))
        with pytest.raises(ClusterRefused, match="DescribeConfigs on Cluster"):
            reads.ask_each({BrokerId(1): asked}, limit_seconds=3)
    finally:
        wire.close()


def test_what_a_user_may_not_change_is_refused(secured: Secured, tmp_path: Path) -> None:
    name = TopicPartition("orders", 0)
    with opened(secured, secured.properties(tmp_path, "reader", word_of("reader"))) as connected:
        with pytest.raises(ClusterRefused, match="Alter on Cluster"):
            connected.reassign({name: replicas(1)}, allow_replication_factor_change=True)
        for kind in ElectionType:
            with pytest.raises(ClusterRefused, match=r"ElectLeaders .*(?s:.*)Alter on Cluster"):
                connected.elect([name], kind)
        with pytest.raises(ClusterRefused, match="Alter on Cluster"):  # said of each replica
            connected.move_logs({(name, BrokerId(1)): "/absent"})

        answer = connected.alter_configs([CHANGE])[ConfigScope.BROKER, "1"]
        assert isinstance(answer, Rejected)
        assert (answer.code, answer.name) == (31, "CLUSTER_AUTHORIZATION_FAILED")


def take_journal(plane: KafkaControlPlane, topic: str) -> None:
    """Create it, take it, write to it, release it."""
    taken = plane.journal(topic)
    with take_ownership(
        taken, "reader@here", taken.clock, lock_timeout=0, note=lambda _: None
    ) as journal:
        journal.append([SavedRate(BrokerId(1), LEADER_RATE, None, ("5",))])


def refusal_of(plane: KafkaControlPlane, topic: str) -> str:
    """Why the journal cannot be used, if so; brokers learn of ACLs a moment later."""
    try:
        take_journal(plane, topic)
    except ClusterRefused as refused:
        return str(refused)
    return ""


def test_the_journal_is_written_with_the_acls_that_the_documentation_lists(
    secured: Secured, tmp_path: Path
) -> None:
    topic = "__replan_journal"
    with opened(secured, secured.properties(tmp_path, "reader", word_of("reader"))) as plane:
        with pytest.raises(ClusterRefused, match="ACL Read on Topic"):
            plane.journal(topic).reader.refresh()
        given = AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.READ
        secured.allow("reader", ResourceType.TOPIC, topic, *given)
        writing = AclOperation.DESCRIBE, AclOperation.WRITE
        secured.allow("reader", ResourceType.TRANSACTIONAL_ID, f"replan-{topic}", *writing)
        clients.until(
            lambda: "Write and Describe on Topic" in refusal_of(plane, topic),
            "all but the ACL to write",
            limit_seconds=20,
        )
        secured.allow("reader", ResourceType.TOPIC, topic, AclOperation.WRITE)
        clients.until(lambda: not refusal_of(plane, topic), "all ACLs", limit_seconds=20)


def test_the_journals_producer_proves_itself_as_the_other_connections_do(
    secured: Secured, tmp_path: Path
) -> None:
    scram = secured.properties(tmp_path, "boss", SCRAM_WORD, sasl_mechanism="SCRAM-SHA-512")
    with opened(secured, scram) as plane:
        take_journal(plane, "__journal-scram")
    mutual = secured.by_certificate(tmp_path, "replan")
    with open_cluster(secured.listener("MUTUAL"), mutual, timeout_seconds=10) as plane:
        take_journal(plane, "__journal-mutual")


MODULES = "org.apache.kafka.common.security"


def javas(secured: Secured, folder: Path, module: str, mechanism: str, word: str) -> Path:
    """A client.properties as Kafka's own tools take it, with a truststore that Java's keytool has made."""
    trusted = folder / "trust.p12"
    _keytool("-importcert", "-noprompt", "-file", str(secured.authority), "-keystore", str(trusted))
    file = folder / "client.properties"
    file.write_text(
        f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config={MODULES}.{module}LoginModule required \\\n"
        f'    username="boss" password="{word}";\n'
        f"ssl.truststore.location={trusted}\nssl.truststore.password={STORE_WORD}\n"
    )
    return file


STORE_WORD = "store-word"


def _keytool(*arguments: str) -> None:
    kind = "-storetype", "PKCS12", "-storepass", STORE_WORD
    subprocess.run(["keytool", *arguments, *kind], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("module", "mechanism", "word"),
    [("plain.Plain", "PLAIN", word_of("boss")), ("scram.Scram", "SCRAM-SHA-512", SCRAM_WORD)],
)
def test_a_file_of_kafkas_own_tools_opens_the_cluster_and_the_journal(
    secured: Secured, tmp_path: Path, module: str, mechanism: str, word: str
) -> None:
    file = javas(secured, tmp_path, module, mechanism, word)
    with opened(secured, file) as plane:
        assert "orders" in topics_of(plane.observe())
        take_journal(plane, f"__journal-java-{mechanism.lower()}")


def test_a_pkcs12_keystore_proves_who_asks_to_both_clients(
    secured: Secured, tmp_path: Path
) -> None:
    own, pem = tmp_path / "own.p12", str(secured.folder / "replan.pem")
    made = ("openssl", "pkcs12", "-export", "-in", pem, "-out", str(own))
    subprocess.run([*made, "-passout", f"pass:{STORE_WORD}"], check=True, capture_output=True)
    file = tmp_path / "client.properties"
    file.write_text(
        f"security.protocol=SSL\nssl.keystore.location={own}\nssl.keystore.password={STORE_WORD}\n"
        f"ssl.keystore.type=PKCS12\nssl.truststore.type=PEM\nssl.truststore.location={secured.authority}\n"
    )
    with open_cluster(secured.listener("MUTUAL"), file, timeout_seconds=10) as plane:
        assert plane.access((), ()).principal == "User:CN=replan"
        take_journal(plane, "__journal-keystore")


def checkup(secured: Secured, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code of `doctor` for the auditor, and its checks by their kind."""
    file = secured.properties(folder, "auditor", word_of("auditor"))
    done = replan(
        *("doctor", "--format", "json", "--bootstrap-server", secured.bootstrap),
        *("--command-config", str(file), "--journal", "topic:__audited"),
        folder=folder,
    )
    return done.returncode, {c["check"]: c for c in json.loads(done.stdout)["checks"]}


def missing(found: dict[str, Any]) -> set[str]:
    return {f"{m['operation']} on {m['resource']}" for m in found["missing"]}


def test_doctor_names_the_permissions_that_are_missing_by_command(
    secured: Secured, tmp_path: Path
) -> None:
    grant = partial(secured.allow, "auditor")
    code, found = checkup(secured, tmp_path)
    assert (code, found["reached"]["level"]) == (2, "wrong")
    assert missing(found["permissions-to-plan"]) == {
        "Describe on Cluster",
        "Describe on Topic",  # of the journal
        "DescribeConfigs on Topic",
        "Read on Topic",
    }

    cluster, topic, anything = ResourceType.BROKER, ResourceType.TOPIC, "*"
    grant(cluster, "kafka-cluster", AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    grant(topic, anything, AclOperation.DESCRIBE)
    reading = AclOperation.READ, AclOperation.DESCRIBE_CONFIGS
    journals = AclOperation.CREATE, AclOperation.WRITE, *reading
    grant(topic, JOURNAL_TOPIC, *journals)  # the lock is there, whatever the journal is called
    with opened(secured, secured.properties(tmp_path, "auditor", word_of("auditor"))) as plane:
        clients.until(
            lambda: "orders" in plane.access(["__audited"]).topics, "the ACLs", limit_seconds=20
        )
        code, found = checkup(secured, tmp_path)
        assert code == 2
        assert missing(found["permissions-to-plan"]) == {"DescribeConfigs on Topic"}
        assert "orders" in found["permissions-to-plan"]["missing"][0]["names"]
        assert missing(found["permissions-to-apply"]) == {
            "Alter on Cluster",
            "AlterConfigs on Cluster",
            "AlterConfigs on Topic",
            "Create on Topic",
            "Write on TransactionalId",
        }
        assert found["clock"]["level"] == "ok"

        grant(cluster, "kafka-cluster", AclOperation.ALTER, AclOperation.ALTER_CONFIGS)
        grant(topic, anything, AclOperation.ALTER_CONFIGS)
        grant(topic, "__audited", *journals)
        grant(ResourceType.TRANSACTIONAL_ID, f"replan-{JOURNAL_TOPIC}", AclOperation.WRITE)
        clients.until(
            lambda: bool(plane.access(["__audited"]).describes_transactions),
            "the ACLs",
            limit_seconds=20,
        )
    code, found = checkup(secured, tmp_path)
    assert found["permissions-to-plan"]["level"] == found["permissions-to-apply"]["level"] == "ok"
    assert found["permissions-to-add-partitions"]["level"] == "note"
    assert missing(found["permissions-to-save-records"]) == {"Read on Topic"}
    assert code == (2 if {c["level"] for c in found.values()} & {"look", "wrong"} else 0)
