"""TLS, passwords and ACLs against a real broker, through the properties file that configures both clients."""

import base64
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.commandline import replan
from tests.kafka.harness import clients
from tests.kafka.harness.ground import prepare_ground
from tests.kafka.harness.layout import Layout, choose_addresses, free_ports
from tests.readings import rates_of

from replan.applying.journal.records import SavedRate
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.clock import SystemClock
from replan.kafka.control_plane import KafkaControlPlane, open_cluster
from replan.kafka.properties.client_properties import client_properties
from replan.kafka.reads.configs import asking_broker, of_topics
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.bootstrap import connect
from replan.model.configs import (
    LEADER_RATE,
    ConfigOperation,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    broker_change,
)
from replan.model.control_plane import Accepted, ElectionType, Rejected, Wanted
from replan.model.names import BrokerId, TopicPartition, is_internal, replicas
from replan.model.snapshot import Snapshot

USERS = {"boss": "boss-word", "reader": "reader-word", "auditor": "auditor-word"}
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
    f'user_{name}="{word}"' for name, word in USERS.items()
)
CHANGE = broker_change(BrokerId(1), LEADER_RATE, ConfigOperation.SET, "1000000")


@dataclass(frozen=True, slots=True)
class Secured:
    """One broker with a SASL_SSL listener, one for clients with a certificate, and the files that prove who is who."""

    plain: str
    """The listener of the harness, where everybody may do everything."""
    bootstrap: str
    mutual: str
    authority: Path
    identity: Path
    """Key and certificate."""

    def properties(self, folder: Path, user: str, word: str, **more: str) -> Path:
        """A client properties file for a user."""
        lines = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": word,
            "ssl.ca.location": str(self.authority),
        } | {key.replace("_", "."): value for key, value in more.items()}
        file = folder / f"{user}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return file

    def open(self, file: Path) -> KafkaControlPlane:
        """Connect as the file says."""
        return open_cluster(self.bootstrap, file, timeout_seconds=10)


@pytest.fixture(scope="module")
def secured(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker whose PLAINTEXT listener is the harness's, and whose CLIENT listener is for these tests."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates of this test, and is not installed")
    folder = tmp_path_factory.mktemp("tls")
    certificate(folder)
    layout = Layout(version=kafka_version, racks={1: "a"}, min_insync_replicas=1)
    addresses = choose_addresses(layout)
    client, mutual = (f"127.0.0.1:{port}" for port in free_ports(2))
    guarded = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:boss;User:CN=replan;User:ANONYMOUS",
    }
    modules = "org.apache.kafka.common.security"
    layout = Layout(
        version=kafka_version,
        racks=layout.racks,
        min_insync_replicas=1,
        controller_properties=guarded,
        broker_properties={
            **guarded,
            "listeners": f"PLAINTEXT://{addresses.of(1)},CLIENT://{client},MUTUAL://{mutual}",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_SSL,MUTUAL:SSL"
            ),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.client.plain.sasl.jaas.config": f"{JAAS};",
            "listener.name.client.scram-sha-512.sasl.jaas.config": (
                f"{modules}.scram.ScramLoginModule required;"
            ),
            "listener.name.client.oauthbearer.sasl.jaas.config": (
                f"{modules}.oauthbearer.OAuthBearerLoginModule required;"
            ),
            "listener.name.mutual.ssl.client.auth": "required",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "ca.pem"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "broker.pem"),
        },
    )
    ground = prepare_ground(layout, addresses)
    try:
        jvm = ground.start_jvm(*ground.files, heap_megabytes=400)
        for node in ground.files:
            jvm.await_answer(f"started {node}", limit_seconds=60)
        clients.create_topic(ground.bootstrap, "orders", [[1]])
        credential = UserScramCredentialUpsertion(
            "boss", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"scram-word"
        )
        admin = clients.admin(ground.bootstrap)
        admin.alter_user_scram_credentials([credential])["boss"].result()
        yield Secured(ground.bootstrap, client, mutual, folder / "ca.pem", folder / "broker.pem")
    finally:
        ground.home.close()


@contextmanager
def token_endpoint(token: str) -> Iterator[str]:
    """The address of an endpoint that gives everybody this token."""

    class Issuer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the base class's spelling
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"access_token": token, "expires_in": 3600}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def topics_of(snapshot: Snapshot) -> list[str]:
    """All but internal ones, which other tests make."""
    return [name for name in snapshot.topics.column("name").to_pylist() if not is_internal(name)]


def certificate(folder: Path) -> None:
    """Make ca.pem, and broker.pem with key and certificate for 127.0.0.1."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", "key.pem", "-out", "ca.pem", "-subj", "/CN=replan"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    both = (folder / "key.pem").read_text() + (folder / "ca.pem").read_text()
    (folder / "broker.pem").write_text(both)


def test_one_file_opens_the_cluster_to_both_clients(secured: Secured, tmp_path: Path) -> None:
    with secured.open(secured.properties(tmp_path, "boss", USERS["boss"])) as connected:
        answers = connected.alter_configs([CHANGE])  # confluent-kafka
        snapshot = connected.observe()  # kafka-python

        assert answers == {(ConfigScope.BROKER, "1"): Accepted()}
        assert topics_of(snapshot) == ["orders"]
        assert rates_of(connected, 1) == {
            1: {LEADER_RATE: ConfigValue("1000000", ConfigSource.BROKER)}
        }


def test_a_password_is_proved_by_scram(secured: Secured, tmp_path: Path) -> None:
    file = secured.properties(tmp_path, "boss", "scram-word", sasl_mechanism="SCRAM-SHA-512")

    with secured.open(file) as connected:
        assert topics_of(connected.observe()) == ["orders"]


def test_a_wrong_scram_password_is_refused(secured: Secured, tmp_path: Path) -> None:
    file = secured.properties(tmp_path, "boss", "wrong-word", sasl_mechanism="SCRAM-SHA-512")

    with pytest.raises(ClusterRefused, match="does not accept these credentials"):
        secured.open(file)


def test_a_client_proves_itself_by_its_certificate(secured: Secured, tmp_path: Path) -> None:
    proof = {
        "ssl_certificate_location": str(secured.authority),
        "ssl_key_location": str(secured.identity),
    }
    file = secured.properties(tmp_path, "none", "none", security_protocol="SSL", **proof)

    with open_cluster(secured.mutual, file, timeout_seconds=10) as connected:
        assert connected.alter_configs([CHANGE]) == {(ConfigScope.BROKER, "1"): Accepted()}


def test_a_client_without_a_certificate_is_turned_away(secured: Secured, tmp_path: Path) -> None:
    file = secured.properties(tmp_path, "none", "none", security_protocol="SSL")

    with pytest.raises(ClusterUnreachable):
        open_cluster(secured.mutual, file, timeout_seconds=2)


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
        with secured.open(file) as connected:
            assert topics_of(connected.observe()) == ["orders"]


def test_a_wrong_password_is_reported_at_once_and_not_repeated(
    secured: Secured, tmp_path: Path
) -> None:
    with pytest.raises(ClusterRefused) as refused:
        secured.open(secured.properties(tmp_path, "boss", "wrong-word"))

    assert str(refused.value).startswith("the cluster does not accept these credentials: ")
    assert str(refused.value).endswith(
        "\n  check security.protocol and the sasl.* keys of the client properties"
    )
    assert "wrong-word" not in str(refused.value)


def test_a_certificate_that_is_not_trusted_is_named_at_once_with_the_key_that_helps(
    secured: Secured, tmp_path: Path
) -> None:
    file = secured.properties(tmp_path, "boss", USERS["boss"], ssl_ca_location="probe")

    with pytest.raises(ClusterRefused) as refused:
        secured.open(file)

    assert str(refused.value).startswith("the broker's certificate is not trusted: self-signed")
    assert "ssl.ca.location" in str(refused.value)


def test_a_plain_connection_to_a_secured_listener_gets_the_advice_to_check_the_protocol(
    secured: Secured,
) -> None:
    with pytest.raises(ClusterUnreachable, match=r"security\.protocol is the one of that listener"):
        open_cluster(secured.bootstrap, None, timeout_seconds=1)


def test_what_a_user_may_not_read_names_the_acl(secured: Secured, tmp_path: Path) -> None:
    with secured.open(secured.properties(tmp_path, "reader", USERS["reader"])) as connected:
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
    file, clock = secured.properties(tmp_path, "reader", USERS["reader"]), SystemClock()
    wire = connect(client_properties(secured.bootstrap, file), clock.interrupt, limit_seconds=3)
    reads = Reads(wire, clock, patience_seconds=3)
    try:
        with pytest.raises(ClusterRefused, match="DescribeConfigs on Topic"):
            of_topics(reads, ["orders"])
        asked = asking_broker(reads, BrokerId(1))
        with pytest.raises(ClusterRefused, match="DescribeConfigs on Cluster"):
            reads.ask_each(asked.operation, {BrokerId(1): asked.question}, limit_seconds=3)
    finally:
        wire.close()


def test_what_a_user_may_not_change_is_refused(secured: Secured, tmp_path: Path) -> None:
    name = TopicPartition("orders", 0)
    with secured.open(secured.properties(tmp_path, "reader", USERS["reader"])) as connected:
        with pytest.raises(ClusterRefused, match="Alter on Cluster"):
            connected.reassign({name: replicas(1)}, allow_replication_factor_change=True)
        for kind in ElectionType:
            with pytest.raises(ClusterRefused, match=r"ElectLeaders .*(?s:.*)Alter on Cluster"):
                connected.elect([name], kind)

        answer = connected.alter_configs([CHANGE])[ConfigScope.BROKER, "1"]
        assert isinstance(answer, Rejected)
        assert (answer.code, answer.name) == (31, "CLUSTER_AUTHORIZATION_FAILED")


def acl(kind: ResourceType, name: str, operation: AclOperation, user: str = "reader") -> AclBinding:
    """The user may do this, from anywhere."""
    return AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


def take_journal(plane: KafkaControlPlane, topic: str) -> None:
    """Create it, take it, write to it, release it."""
    with plane.journal(topic).take("reader@here", lock_timeout=0, note=lambda _: None) as journal:
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
    grant = clients.admin(secured.plain).create_acls
    needed = [
        acl(ResourceType.TOPIC, topic, AclOperation.CREATE),
        acl(ResourceType.TOPIC, topic, AclOperation.DESCRIBE),
        acl(ResourceType.TOPIC, topic, AclOperation.READ),
        acl(ResourceType.TRANSACTIONAL_ID, f"replan-{topic}", AclOperation.DESCRIBE),
        acl(ResourceType.TRANSACTIONAL_ID, f"replan-{topic}", AclOperation.WRITE),
    ]
    with secured.open(secured.properties(tmp_path, "reader", USERS["reader"])) as plane:
        with pytest.raises(ClusterRefused, match="ACL Read on Topic"):
            plane.journal(topic).reader.refresh()
        for answer in grant(needed).values():
            answer.result(10)
        clients.until(
            lambda: "Write and Describe on Topic" in refusal_of(plane, topic),
            "all but the ACL to write",
            limit_seconds=20,
        )
        for answer in grant([acl(ResourceType.TOPIC, topic, AclOperation.WRITE)]).values():
            answer.result(10)
        clients.until(lambda: not refusal_of(plane, topic), "all ACLs", limit_seconds=20)


def test_the_journals_producer_proves_itself_as_the_other_connections_do(
    secured: Secured, tmp_path: Path
) -> None:
    scram = secured.properties(tmp_path, "boss", "scram-word", sasl_mechanism="SCRAM-SHA-512")
    with secured.open(scram) as plane:
        take_journal(plane, "__journal-scram")
    mutual = tmp_path / "mutual.properties"
    mutual.write_text(
        f"security.protocol=SSL\nssl.ca.location={secured.authority}\n"
        f"ssl.certificate.location={secured.identity}\nssl.key.location={secured.identity}\n"
    )
    with open_cluster(secured.mutual, mutual, timeout_seconds=10) as plane:
        take_journal(plane, "__journal-mutual")


def checkup(secured: Secured, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code of `doctor` for the auditor, and its checks by their kind."""
    file = secured.properties(folder, "auditor", USERS["auditor"])
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
    admin = clients.admin(secured.plain)

    def grant(kind: ResourceType, name: str, *operations: AclOperation) -> None:
        wanted = [acl(kind, name, operation, "auditor") for operation in operations]
        for answer in admin.create_acls(wanted).values():
            answer.result(10)

    code, found = checkup(secured, tmp_path)
    assert (code, found["reached"]["level"]) == (2, "wrong")
    assert missing(found["permissions-to-plan"]) == {"Describe on Cluster"}

    cluster, topic, anything = ResourceType.BROKER, ResourceType.TOPIC, "*"
    grant(cluster, "kafka-cluster", AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    grant(topic, anything, AclOperation.DESCRIBE)
    with secured.open(secured.properties(tmp_path, "auditor", USERS["auditor"])) as plane:
        clients.until(
            lambda: "orders" in plane.access("__audited").topics, "the ACLs", limit_seconds=20
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
        grant(topic, "__audited", AclOperation.CREATE)
        grant(ResourceType.TRANSACTIONAL_ID, "replan-__audited", AclOperation.WRITE)
        clients.until(
            lambda: bool(plane.access("__audited").describes_transactions),
            "the ACLs",
            limit_seconds=20,
        )
    code, found = checkup(secured, tmp_path)
    assert found["permissions-to-plan"]["level"] == found["permissions-to-apply"]["level"] == "ok"
    assert found["permissions-to-add-partitions"]["level"] == "note"
    assert missing(found["permissions-to-save-records"]) == {"Read on Topic"}
    assert code == (2 if {c["level"] for c in found.values()} & {"look", "wrong"} else 0)
