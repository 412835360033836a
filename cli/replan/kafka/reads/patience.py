"""Readings with patience: asked again while the cluster changes hands, explained when it stays silent.

Only readings come through here. A write is sent once and answered with what is known of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kafka.errors import KafkaError
from msgspec import Struct, field

from replan.errors import ClusterUnreachable
from replan.kafka.clock import SystemClock
from replan.kafka.failures import ControllerSilent, Operation, explained_refusal, reason, retriable
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.broker import Broker
from replan.model.names import BrokerId

REQUEST_SECONDS = 10.0
"""For one request. A broker that waits for a frozen controller never answers what it was asked meanwhile, but answers
at once what it is asked after it has let go (30 s): many short requests get through sooner than few long ones."""
_SHORTEST_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0


_T = TypeVar("_T")


class Patience:
    """How long a reading is repeated, from its beginning or its last success; an interrupt ends it."""

    def __init__(self, clock: SystemClock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self.restart()

    def restart(self) -> None:
        """Begin again: something has succeeded."""
        self._began, self._pause = self._clock.now(), _FIRST_PAUSE_SECONDS
        self._calls = self._clock.interrupt.calls

    @property
    def waited(self) -> float:
        """Seconds since it began."""
        return self._clock.now() - self._began

    def pause(self) -> bool:
        """Wait a little before another attempt, a little longer each time; False where it is over, or interrupted."""
        interrupted = self._clock.interrupt.calls > self._calls
        if interrupted or self.waited + self._pause >= self._seconds:
            return False
        self._clock.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
        return True


class EarlierReadings(Struct):
    """What earlier readings of this process found, and the next ones need."""

    brokers: dict[BrokerId, Broker] = field(default_factory=dict)
    """As the last look listed them: before 4.1 a fenced broker is not listed any more."""
    registrations: dict[BrokerId, tuple[bool, float]] = field(default_factory=dict)
    """Of brokers that no list names: whether each is registered, and when the controller said so."""
    denied: set[Operation] = field(default_factory=set)
    """What this user may not ask, and is not asked again."""
    partitions: dict[str, int] = field(default_factory=dict)
    """How many partitions each topic has."""
    page: int | None = None
    """How many rows brokers give at once, where that is fewer than they are asked for."""
    cordoned: dict[BrokerId, bool] = field(default_factory=dict)
    """Whether all directories of a broker were cordoned when it was asked last."""


class Reads:
    """Asks a cluster, again and again within a patience."""

    def __init__(self, wire: Wire, clock: SystemClock, *, patience_seconds: float) -> None:
        self.wire = wire
        self.patience_seconds = patience_seconds
        self.clock = clock
        self.earlier = EarlierReadings()
        self._made: dict[str, tuple[object, Any]] = {}

    def ask(self, question: Question) -> Any:
        """Return the response of some broker.

        Raises:
            ClusterUnreachable: no answer within the patience.
            ClusterRefused: the cluster says no to the whole request.
        """
        answers, _ = self.round([question], {}, self.patience_seconds)
        return answers[0]

    def ask_each(
        self, questions: Mapping[BrokerId, Question], *, limit_seconds: float
    ) -> dict[BrokerId, Any]:
        """Return the responses of the brokers that gave one in time; asks each broker once.

        Raises:
            ClusterRefused: a broker says no to the whole request.
        """
        of_brokers = {broker: [question] for broker, question in questions.items()}
        _, answers_of = self.round(
            [], of_brokers, self.patience_seconds, broker_seconds=limit_seconds
        )
        return {
            b: answers[0]
            for b, answers in answers_of.items()
            if not isinstance(answers[0], KafkaError)
        }

    def round(
        self,
        of_home: Sequence[Question],
        of_brokers: Mapping[BrokerId, Sequence[Question]],
        patience_seconds: float,
        *,
        broker_seconds: float = 0,
    ) -> tuple[list[Any], dict[BrokerId, list[Any]]]:
        """Ask the home broker these, in order, and meanwhile each broker its own, for whose answer a KafkaError may
        stand.

        Raises:
            ClusterUnreachable: no answer of a home broker within the patience.
            ClusterRefused: a broker says no to a whole request.
        """
        patience = Patience(self.clock, patience_seconds)
        while True:
            seconds_left = patience_seconds - patience.waited
            answers, others = self.wire.round(
                of_home,
                of_brokers,
                home_seconds=min(
                    REQUEST_SECONDS, max(seconds_left, min(_SHORTEST_SECONDS, patience_seconds))
                ),
                broker_seconds=min(broker_seconds, patience_seconds),
            )
            failed = _first_failure(of_home, answers)
            if failed is None:
                for broker, of_broker in others.items():
                    _first_failure(of_brokers[broker], of_broker)
                return answers, others
            waited = patience.waited
            if not patience.pause():
                raise _silent(failed[0], waited, failed[1]) from failed[1]

    def kept(self, name: str, key: object, make: Callable[[], _T]) -> _T:
        """What was made under this name last, if it was made for an equal key; else made now."""
        made = self._made.get(name)
        if made is None or made[0] != key:
            made = self._made[name] = key, make()
        value: _T = made[1]
        return value


def _first_failure(
    questions: Sequence[Question], answers: Sequence[Any]
) -> tuple[Operation, KafkaError] | None:
    """The first that may be asked again; raises where one cannot succeed."""
    failed = None
    for question, answer in zip(questions, answers, strict=True):
        if isinstance(answer, KafkaError):
            if not retriable(answer):
                raise explained_refusal(question.operation, answer) from answer
            failed = failed or (question.operation, answer)
    return failed


def _silent(operation: Operation, waited: float, failure: Exception) -> ClusterUnreachable:
    return ClusterUnreachable(
        f"the cluster did not answer {operation.name} within {waited:.0f} s;"
        f" the last attempt: {reason(failure)}\n"
        "  check that a majority of controllers is up and that brokers can reach the active one;"
        " what was begun stays as it is, the same command goes on from there",
        waits_for="the active controller" if isinstance(failure, ControllerSilent) else None,
    )
