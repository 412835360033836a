"""Two brokers with listeners for every way of proving who one is, certificates of every kind, and users with ACLs."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness import clients
from tests.kafka.harness.layout import Layout, free_ports
from tests.kafka.harness.one_jvm import OneJvmCluster

SUPER, SUPER_WORD, SCRAM_WORD = "boss", "boss-word", "scram-word"
USERS = (SUPER, "reader", "auditor", "planner", "applier", "steerer", "guest", "mover", "viewer")
BROKERS = (1, 2)
VALID = "20200101000000Z", "20490101000000Z"
GONE_BY = "20200101000000Z", "20210101000000Z"
AUTHORITY = """\
[ca]
default_ca = here
[here]
database = index
rand_serial = yes
new_certs_dir = .
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""


def word_of(user: str) -> str:
    """The password of a user."""
    return f"{user}-word"


@dataclass(frozen=True, slots=True)
class Secured:
    """The cluster, and the files that prove who is who."""

    cluster: OneJvmCluster
    ports: dict[str, list[int]]
    """By listener, one for each broker."""
    folder: Path
    """NAME.pem holds a key and its certificate, ca.pem the authority of all but `stranger`."""

    @property
    def plain(self) -> str:
        """The listener of the harness, where everybody may do everything."""
        return self.cluster.bootstrap

    @property
    def bootstrap(self) -> str:
        """Where users prove who they are by words and tokens."""
        return self.listener("CLIENT")

    def listener(self, name: str) -> str:
        """Addresses of a listener: CLIENT, MUTUAL (with a certificate), EXPIRED (its own has expired)."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports[name])

    @property
    def authority(self) -> Path:
        """The certificate of the authority."""
        return self.folder / "ca.pem"

    def properties(self, folder: Path, user: str, word: str, **more: str) -> Path:
        """A client properties file for a user."""
        lines = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": word,
            "ssl.ca.location": str(self.authority),
        }
        return written(folder / f"{user}.properties", lines, more)

    def by_certificate(self, folder: Path, name: str) -> Path:
        """A client properties file for the owner of a certificate."""
        pem = str(self.folder / f"{name}.pem")
        lines = {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority),
            "ssl.certificate.location": pem,
            "ssl.key.location": pem,
        }
        return written(folder / f"{name}.properties", lines, {})

    def forbid(self, user: str, name: str, *operations: AclOperation) -> None:
        """Take rights on a topic away from a user."""
        wanted = [
            AclBindingFilter(
                ResourceType.TOPIC,
                name,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in operations
        ]
        admin = clients.admin(self.plain)
        for answer in admin.delete_acls(wanted).values():
            answer.result(10)

    def allow(self, user: str, kind: ResourceType, name: str, *operations: AclOperation) -> None:
        """Give a principal more rights."""
        principal = user if user.startswith("User:") else f"User:{user}"
        wanted = [
            AclBinding(
                kind,
                name,
                ResourcePatternType.LITERAL,
                principal,
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in operations
        ]
        admin = clients.admin(self.plain)
        for answer in admin.create_acls(wanted).values():
            answer.result(10)


def written(file: Path, lines: dict[str, str], more: dict[str, str]) -> Path:
    """A properties file."""
    lines = lines | {key.replace("_", "."): value for key, value in more.items()}
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return file


@contextmanager
def secured_cluster(version: str, config: pytest.Config, folder: Path) -> Iterator[Secured]:
    """Start it, with its certificates in a folder, and a topic `orders` on broker 1."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates of these tests, and is not installed")
    make_certificates(folder)
    names = ("CLIENT", "MUTUAL", "EXPIRED")
    free = free_ports(len(names) * len(BROKERS))
    ports = {name: free[i * len(BROKERS) :][: len(BROKERS)] for i, name in enumerate(names)}
    with one_jvm_cluster(_layout(version, ports, folder), config) as cluster:
        credential = UserScramCredentialUpsertion(
            SUPER, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), SCRAM_WORD.encode()
        )
        admin = clients.admin(cluster.bootstrap)
        admin.alter_user_scram_credentials([credential])[SUPER].result()
        clients.create_topic(cluster.bootstrap, "orders", [[1]])
        yield Secured(cluster, ports, folder)


def _layout(version: str, ports: dict[str, list[int]], folder: Path) -> Layout:
    def listeners(broker: int, address: str) -> dict[str, str]:
        own = {name: of[BROKERS.index(broker)] for name, of in ports.items()}
        every = ",".join(f"{name}://127.0.0.1:{port}" for name, port in own.items())
        every = f"PLAINTEXT://{address},{every}"
        return {"listeners": every, "advertised.listeners": every}

    guarded = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{SUPER};User:CN=replan;User:ANONYMOUS",
    }
    modules = "org.apache.kafka.common.security"
    known = " ".join(f'user_{user}="{word_of(user)}"' for user in USERS)
    return Layout(
        version=version,
        racks={1: "a", 2: "b"},
        min_insync_replicas=1,
        controller_properties=guarded,
        own_properties=listeners,
        broker_properties={
            **guarded,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_SSL,MUTUAL:SSL,EXPIRED:SSL"
            ),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.client.plain.sasl.jaas.config": (
                f"{modules}.plain.PlainLoginModule required {known};"
            ),
            "listener.name.client.scram-sha-512.sasl.jaas.config": (
                f"{modules}.scram.ScramLoginModule required;"
            ),
            "listener.name.client.oauthbearer.sasl.jaas.config": (
                f"{modules}.oauthbearer.OAuthBearerLoginModule required;"
            ),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.expired.ssl.keystore.location": str(folder / "expired.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "ca.pem"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "broker.pem"),
        },
    )


def make_certificates(folder: Path) -> None:
    """An authority, and what it has signed for 127.0.0.1; `stranger` signed itself."""
    (folder / "authority.cnf").write_text(AUTHORITY)
    (folder / "index").touch()
    _self_signed(folder, "ca", "/CN=authority")
    _self_signed(folder, "stranger", "/CN=replan")
    for name, subject, dates in (
        ("broker", "/CN=broker", VALID),
        ("replan", "/CN=replan", VALID),
        ("expired", "/CN=replan", GONE_BY),
    ):
        _signed(folder, name, subject, dates)


def _self_signed(folder: Path, name: str, subject: str) -> None:
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", subject)
    _openssl(folder, *made, "-keyout", f"{name}.key", "-out", f"{name}.pem")
    if name != "ca":
        _with_key(folder, name)


def _signed(folder: Path, name: str, subject: str, dates: Sequence[str]) -> None:
    asked = ("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject)
    more = ("-addext", "subjectAltName=IP:127.0.0.1")
    _openssl(folder, *asked, *more, "-keyout", f"{name}.key", "-out", f"{name}.csr")
    begin, end = dates
    signed = ("ca", "-batch", "-notext", "-config", "authority.cnf", "-cert", "ca.pem")
    when = ("-keyfile", "ca.key", "-startdate", begin, "-enddate", end)
    _openssl(folder, *signed, *when, "-in", f"{name}.csr", "-out", f"{name}.pem")
    _with_key(folder, name, folder / "ca.pem")


def _with_key(folder: Path, name: str, *chain: Path) -> None:
    """NAME.pem with the key, the certificate, and who signed it."""
    parts = [folder / f"{name}.key", folder / f"{name}.pem", *chain]
    (folder / f"{name}.pem").write_text("".join(part.read_text() for part in parts))


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
