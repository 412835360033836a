"""The shape of a test cluster, and the properties files that give Kafka that shape.

Pure, but for choosing free ports. Formatting directories and starting processes are elsewhere.
"""

import fcntl
import os
import random
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from types import MappingProxyType

from msgspec import Struct, field
from tests.kafka.harness.distribution import DEFAULT_VERSION

FIVE_BROKERS = MappingProxyType({1: "a", 2: "b", 3: "c", 4: "a", 5: "b"})
FIRST_CONTROLLER = 101
PORTS = range(15000, 32000)
"""Below those that systems take for outgoing connections: a client could have one while its broker is down."""
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


class Layout(Struct, frozen=True, kw_only=True):
    """What a cluster looks like; the defaults are five brokers on three racks.

    `min_insync_replicas` is the cluster's default for topics. ELR exists from 4.1 on. Extra
    properties win over ours. Kafka's own broker session timeout is 9 s; a shorter one fences a
    dead broker sooner, and lets a stopped one start sooner: from 4.0 on the controller refuses
    a new incarnation until the session of the last has expired, also after a clean stop.
    """

    version: str = DEFAULT_VERSION
    racks: Mapping[int, str] = field(default_factory=lambda: FIVE_BROKERS)
    log_directories: int = 2
    controllers: int = 1
    min_insync_replicas: int = 2
    eligible_leader_replicas: bool = True
    broker_session_timeout_ms: int = 6000
    broker_properties: Mapping[str, str] = field(default_factory=lambda: NOTHING_MORE)
    controller_properties: Mapping[str, str] = field(default_factory=lambda: NOTHING_MORE)
    own_properties: Callable[[int, str], Mapping[str, str]] = lambda _broker, _address: NOTHING_MORE
    """What one broker alone has, by its id and its address."""

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Controllers count from 101, so that no broker id collides."""
        return tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + self.controllers))


class Addresses(Struct, frozen=True):
    """Where each node listens, on loopback."""

    ports: Mapping[int, int]

    def of(self, node: int) -> str:
        """The node's host:port."""
        return f"127.0.0.1:{self.ports[node]}"


def choose_addresses(layout: Layout) -> Addresses:
    """A free port for each node of the layout."""
    nodes = [*layout.racks, *layout.controller_ids]
    return Addresses(dict(zip(nodes, free_ports(len(nodes)), strict=True)))


def free_ports(count: int, among: range = PORTS) -> list[int]:
    """Free loopback ports; each stays with the process that was given it, to its end.

    No other cluster gets it, of this process or of another one, while its broker is about to start or is down.
    """
    chosen: list[int] = []
    with ExitStack() as held:
        for port in random.SystemRandom().sample(among, min(2000, len(among))):
            listener = held.enter_context(socket.socket())
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            if _reserved(port):
                chosen.append(port)
            if len(chosen) == count:
                return chosen
    raise OSError(f"no {count} free ports between {among[0]} and {among[-1]} on 127.0.0.1")


@cache
def _reservations() -> tuple[int, set[int]]:
    """A file of which each process that runs tests locks the bytes of its ports; and those of this process."""
    path = Path(gettempdir()) / f"replan-test-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600), set()


def _reserved(port: int) -> bool:
    file, own = _reservations()
    if port in own:
        return False
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:  # another process has it
        return False
    own.add(port)
    return True


def log_directories(layout: Layout, root: Path, node: int) -> list[Path]:
    """Where a node keeps its logs: a controller in one directory, a broker in several."""
    count = layout.log_directories if node in layout.racks else 1
    return [root / f"node-{node}" / f"logs-{number}" for number in range(count)]


def broker_file(layout: Layout, addresses: Addresses, root: Path, broker: int) -> str:
    """The text of a broker's properties file."""
    replicas = str(min(3, len(layout.racks)))
    most_in_sync = str(min(layout.min_insync_replicas, len(layout.racks)))
    return _text(
        _shared(layout, addresses, root, broker)
        | {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://{addresses.of(broker)}",
            "inter.broker.listener.name": "PLAINTEXT",
            "broker.rack": layout.racks[broker],
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": replicas,
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": most_in_sync,
            "transaction.state.log.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "0",
            # A clean stop is answered with a heartbeat; Kafka's own interval is 2 s.
            "broker.heartbeat.interval.ms": "500",
            # Small and few: five brokers share a small machine.
            "log.cleaner.dedupe.buffer.size": "4194304",
            "num.io.threads": "4",
            "num.network.threads": "2",
            "num.recovery.threads.per.data.dir": "1",
            # After an error a follower rests this long; tests should not.
            "replica.fetch.backoff.ms": "200",
        }
        | dict(layout.broker_properties)
        | dict(layout.own_properties(broker, addresses.of(broker)))
    )


def controller_file(layout: Layout, addresses: Addresses, root: Path, controller: int) -> str:
    """The text of a controller's properties file.

    From 4.1 on, with ELR, the cluster-wide min.insync.replicas is the controller's, not the
    brokers' (KIP-966; ConfigurationControlManager), so it stands here too.
    """
    return _text(
        _shared(layout, addresses, root, controller)
        | {
            "process.roles": "controller",
            "listeners": f"CONTROLLER://{addresses.of(controller)}",
            "broker.session.timeout.ms": str(layout.broker_session_timeout_ms),
            "controller.quorum.election.backoff.max.ms": "200",
            # A record twice a second, which every broker reads: a third of what an idle cluster computes.
            "metadata.max.idle.interval.ms": "0",
        }
        | dict(layout.controller_properties)
    )


def _shared(layout: Layout, addresses: Addresses, root: Path, node: int) -> dict[str, str]:
    voters = ",".join(f"{voter}@{addresses.of(voter)}" for voter in layout.controller_ids)
    directories = ",".join(str(path) for path in log_directories(layout, root, node))
    return {
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": directories,
        "min.insync.replicas": str(layout.min_insync_replicas),
    }


def _text(properties: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in properties.items())
