"""Tier 1: a real controller, and brokers that are nothing but scripted requests to it.

A broker is, to the controller, a registration and heartbeats; an ISR change is a request of the
leader. So every state of the control plane can be made at will and in milliseconds, without
data. The controller's listener takes what fake brokers say; beside it, in the same JVM, one
real broker (`FRONT`) holds no replicas and answers clients. Tests work in an `Arena` each, with
brokers and topics of its own; what is here is what arenas share.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import count
from types import MappingProxyType
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

from msgspec import Struct
from msgspec.structs import replace
from tests.kafka.harness.clients import until
from tests.kafka.harness.closing import Closing
from tests.kafka.harness.codec import Message, Schemas
from tests.kafka.harness.distribution import DEFAULT_VERSION, schema_folder
from tests.kafka.harness.ground import prepare_ground
from tests.kafka.harness.jvm import STARTUP_SECONDS, tail
from tests.kafka.harness.layout import Layout, choose_addresses
from tests.kafka.harness.metadata_log import MetadataLog
from tests.kafka.harness.wire import Wire

HEAP_MEGABYTES = 512
ONE_HOUR_MS = 3_600_000
ANY_PORT = 9
CAUGHT_UP = 1 << 40  # as a broker's metadata offset: further than the log will ever get
DUPLICATE_BROKER_REGISTRATION = 101
REQUEST_TIMED_OUT = 7
HEARTBEAT_ATTEMPTS = 20
FRONT = 999
ONE_DIRECTORY = ("a",)
FEATURES = MappingProxyType(
    {
        "metadata.version": (1, 40),
        "kraft.version": (0, 1),
        "transaction.version": (0, 2),
        "group.version": (0, 1),
        "eligible.leader.replicas.version": (0, 1),
        "share.version": (0, 2),
        "streams.version": (0, 2),
    }
)
AS_IS: Mapping[str, str] = MappingProxyType({})


class Refused(Exception):
    """The controller refused a request as a whole, with Kafka's error code."""

    def __init__(self, what: str, code: int, message: str | None = None) -> None:
        super().__init__(f"{what}: error {code}" + (f", {message}" if message else ""))
        self.code = code


class FakeBroker(Struct, frozen=True):
    """A registered broker: who it is, and what its heartbeats say."""

    id: int
    epoch: int
    directories: tuple[str, ...] = ONE_DIRECTORY
    """By names of the tests; each has one id for ever (`directory_id`)."""
    fenced: bool = True
    shutting_down: bool = False
    cordoned: bool = False
    lost: frozenset[str] = frozenset()
    """Directories that its heartbeats call offline (KIP-858); it registers without them."""


def directory_id(broker: int, name: str) -> UUID:
    """The id of a broker's log directory."""
    return uuid5(NAMESPACE_OID, f"{broker}/{name}")


class FakeBrokers(Closing):
    """A running controller and the fake brokers registered with it.

    With the session timeout of an hour, time plays no part: brokers live without heartbeats.
    A restart of a broker needs its session to expire first (from 4.0 on), so tests of restarts
    take a short one, of a second or two; heartbeats are then sent in the background.
    """

    def __init__(
        self,
        version: str = DEFAULT_VERSION,
        *,
        eligible_leader_replicas: bool = True,
        session_timeout_ms: int = ONE_HOUR_MS,
        properties: Mapping[str, str] = AS_IS,
    ) -> None:
        self.version = version
        self._session_seconds = session_timeout_ms / 1000
        layout = Layout(
            version=version,
            racks={FRONT: "front"},
            log_directories=1,
            eligible_leader_replicas=eligible_leader_replicas,
            min_insync_replicas=1,
            broker_session_timeout_ms=session_timeout_ms,
            controller_properties=_on_its_own_never(session_timeout_ms) | dict(properties),
        )
        self.ground = prepare_ground(layout, choose_addresses(layout))
        self._brokers: dict[int, FakeBroker] = {}
        self._beating = threading.RLock()
        self._closing = threading.Event()
        self._rounds = 0
        self._late_rounds = 0
        self._arena_numbers = count(1)
        self._open = ExitStack()
        self._open.callback(self.ground.home.close)
        try:
            self._jvm = self.ground.start_jvm(*self.ground.files, heap_megabytes=HEAP_MEGABYTES)
            for node in self.ground.files:
                self._jvm.await_answer(f"started {node}", limit_seconds=STARTUP_SECONDS)
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        schemas = Schemas(schema_folder(self.ground.kafka))
        self.controller = self._open.enter_context(Wire(self.ground.controller_bootstrap, schemas))
        self.front = self._open.enter_context(Wire(self.ground.bootstrap, schemas))
        (directory,) = self.ground.log_directories(self.ground.layout.controller_ids[0])
        self.log = MetadataLog(directory, schemas)
        self._cluster_id = self.front.ask("DescribeCluster", EndpointType=1)["ClusterId"]
        if not self._hour_long:
            threading.Thread(target=self._keep_beating, name="heartbeats", daemon=True).start()

    @property
    def bootstrap(self) -> str:
        """The real broker's address, for clients; it forwards what is the controller's."""
        return self.ground.bootstrap

    @property
    def pids(self) -> tuple[int, ...]:
        """The controller's process."""
        return (self._jvm.process.pid,)

    def next_arena_number(self) -> int:
        """A number that no arena of this controller had before."""
        return next(self._arena_numbers)

    def broker(self, broker: int) -> FakeBroker:
        """A registered broker."""
        return self._brokers[broker]

    def is_registered(self, broker: int) -> bool:
        """Whether a broker is registered by this harness."""
        return broker in self._brokers

    def register(self, broker: int, directories: tuple[str, ...]) -> None:
        """Register a broker for the first time; it is fenced until `unfence`."""
        self._register(FakeBroker(broker, -1, directories), previous_epoch=-1)

    def add_directory(self, broker: int, name: str) -> None:
        """Give a broker another log directory, or a lost one back; it names it when it registers next."""
        with self._beating:
            known = self._brokers[broker]
            self._brokers[broker] = replace(
                known, directories=(*known.directories, name), lost=known.lost - {name}
            )

    def restart(self, broker: int, *, cleanly: bool) -> None:
        """Fence a broker and register its next incarnation, which stays fenced.

        After a clean stop a broker names its previous epoch and keeps its place in ELRs; after
        an unclean one it loses ISR and ELR membership (KIP-966; from 4.0 on).

        Raises:
            Refused: code 101, when the session of the last incarnation does not end in time.
        """
        stopped = self._brokers[broker]
        if not stopped.fenced and not stopped.shutting_down:
            self.beat(replace(stopped, fenced=True))
        with self._beating:
            stopped = self._brokers.pop(broker)
        previous_epoch = stopped.epoch if cleanly else -1
        deadline = time.monotonic() + min(2 * self._session_seconds, STARTUP_SECONDS)
        fresh = replace(stopped, fenced=True, shutting_down=False)
        while True:
            try:
                return self._register(fresh, previous_epoch=previous_epoch)
            except Refused as refused:
                waiting = refused.code == DUPLICATE_BROKER_REGISTRATION
                if not waiting or self._hour_long or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def beat(self, wanted: FakeBroker) -> Message:
        """Send the heartbeat of a broker as it is wanted to be, and remember it so.

        Raises:
            Refused: the controller did not take the heartbeat.
        """
        with self._beating:
            answer = _beat(self.controller, wanted)
            if self._brokers[wanted.id].fenced and not wanted.fenced:
                # Unfencing forgets how far the broker has read (BrokerHeartbeatManager), and no
                # controlled shutdown is granted before every live broker has said it again.
                answer = _beat(self.controller, wanted)
            # A granted shutdown has fenced the broker, whatever it wanted.
            self._brokers[wanted.id] = replace(wanted, fenced=answer["IsFenced"])
        return answer

    def unregister(self, broker: int) -> None:
        """Remove a broker's registration (as `kafka-cluster unregister` does)."""
        with self._beating:
            self._brokers.pop(broker, None)
        answer = self.controller.ask("UnregisterBroker", BrokerId=broker)
        if answer["ErrorCode"]:
            raise Refused(f"unregister {broker}", answer["ErrorCode"], answer["ErrorMessage"])

    def late_rounds(self) -> int:
        """How often heartbeats have come so late that sessions may have ended by themselves, up to now."""
        if not self._hour_long:
            under_way = self._rounds
            until(
                lambda: self._rounds >= under_way + 2, "heartbeats", limit_seconds=STARTUP_SECONDS
            )
        return self._late_rounds

    def log_tails(self) -> str:
        """The end of what the controller logged."""
        return tail(self._jvm.log)

    def close(self) -> None:
        """End the controller and remove its data."""
        self._closing.set()
        with self._beating:
            self._open.close()

    @property
    def _hour_long(self) -> bool:
        return self._session_seconds >= ONE_HOUR_MS / 1000

    def _register(self, broker: FakeBroker, *, previous_epoch: int) -> None:
        answer = self.controller.ask(
            "BrokerRegistration",
            BrokerId=broker.id,
            ClusterId=self._cluster_id,
            IncarnationId=uuid4(),
            Listeners=[
                {"Name": "PLAINTEXT", "Host": "127.0.0.1", "Port": ANY_PORT, "SecurityProtocol": 0}
            ],
            Features=[
                {"Name": name, "MinSupportedVersion": least, "MaxSupportedVersion": most}
                for name, (least, most) in FEATURES.items()
            ],
            Rack=None,
            LogDirs=_ids(broker, set(broker.directories) - broker.lost),
            PreviousBrokerEpoch=previous_epoch,
        )
        if answer["ErrorCode"]:
            raise Refused(f"register broker {broker.id}", answer["ErrorCode"])
        with self._beating:
            self._brokers[broker.id] = replace(broker, epoch=answer["BrokerEpoch"])

    def _keep_beating(self) -> None:
        schemas = Schemas(schema_folder(self.ground.kafka))
        ended = time.monotonic()
        with Wire(self.ground.controller_bootstrap, schemas) as wire:
            while not self._closing.wait(self._session_seconds / 6):
                with self._beating:
                    if self._closing.is_set():
                        return
                    refused = [b for b in list(self._brokers.values()) if not _beats(wire, b)]
                before, ended = ended, time.monotonic()
                self._late_rounds += bool(refused) or ended - before > self._session_seconds / 2
                self._rounds += 1


def _beats(wire: Wire, broker: FakeBroker) -> bool:
    """Whether a heartbeat was taken; on a starved machine all its attempts may wait in the queue for too long."""
    try:
        _beat(wire, broker)
    except Refused as refused:
        if refused.code != REQUEST_TIMED_OUT:
            raise
        return False
    return True


def _beat(wire: Wire, broker: FakeBroker) -> Message:
    cordoned = {"CordonedLogDirs": _ids(broker, broker.directories)} if broker.cordoned else {}
    for _ in range(HEARTBEAT_ATTEMPTS):
        answer = wire.ask(
            "BrokerHeartbeat",
            BrokerId=broker.id,
            BrokerEpoch=broker.epoch,
            CurrentMetadataOffset=CAUGHT_UP,
            WantFence=broker.fenced,
            WantShutDown=broker.shutting_down,
            OfflineLogDirs=_ids(broker, broker.lost),
            **cordoned,
        )
        if answer["ErrorCode"] != REQUEST_TIMED_OUT:  # it waited too long in the queue: not done
            break
    if answer["ErrorCode"]:
        raise Refused(f"heartbeat of broker {broker.id}", answer["ErrorCode"])
    return answer


def _ids(broker: FakeBroker, names: Iterable[str]) -> list[UUID]:
    return [directory_id(broker.id, name) for name in sorted(names)]


def _on_its_own_never(session_timeout_ms: int) -> dict[str, str]:
    """Keeps the controller from acting by itself, and from gathering writes before it commits.

    A heartbeat that waits in the controller's queue for half the heartbeat interval is refused,
    so on a busy machine that interval must be long, however often the brokers really beat.
    """
    return {
        "auto.leader.rebalance.enable": "false",
        "broker.heartbeat.interval.ms": str(session_timeout_ms // 2),
        "controller.quorum.append.linger.ms": "0",
        "metadata.max.idle.interval.ms": "0",
    }
