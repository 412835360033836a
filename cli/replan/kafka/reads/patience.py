"""Readings with patience: asked again while the cluster changes hands, explained when it stays silent.

Only readings come through here. A write is sent once and answered with what is known of it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kafka.errors import KafkaError

from replan.errors import ClusterUnreachable
from replan.kafka.failures import Operation, passes, raise_for, reason, refusal
from replan.kafka.wire.wire import Wire
from replan.model.control_plane import Clock
from replan.model.names import BrokerId

REQUEST_SECONDS = 10.0
"""For one request. A broker that waits for a frozen controller never answers what it was asked meanwhile, but answers
at once what it is asked after it has let go (30 s): many short requests get through sooner than few long ones."""
_SHORTEST_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0


class Reads:
    """Asks a cluster, again and again within the patience."""

    def __init__(self, wire: Wire, clock: Clock, *, patience_seconds: float) -> None:
        self.wire = wire
        self._clock = clock
        self._patience_seconds = patience_seconds

    def ask(self, operation: Operation, make_request: Callable[[], Any]) -> Any:
        """Return the response of some broker; each attempt makes a new request, as versions may differ.

        Raises:
            ClusterUnreachable: no answer within the patience.
            ClusterRefused: the cluster says no to the whole request.
        """
        started = self._clock.now()
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                left = started + self._patience_seconds - self._clock.now()
                limit_seconds = min(REQUEST_SECONDS, max(left, _SHORTEST_SECONDS))
                return _checked(self.wire.ask(make_request(), limit_seconds=limit_seconds))
            except KafkaError as failure:
                if not passes(failure):
                    raise refusal(operation, failure) from failure
                waited = self._clock.now() - started
                if waited >= self._patience_seconds or not self._slept(pause):
                    raise _silent(operation, waited, failure) from failure
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _slept(self, seconds: float) -> bool:
        """Sleep; False where the sleep was cut short, because the process is asked to stop."""
        before = self._clock.now()
        self._clock.sleep(seconds)
        return self._clock.now() - before > seconds / 2

    def ask_each(
        self, operation: Operation, requests: Mapping[BrokerId, Any], *, limit_seconds: float
    ) -> dict[BrokerId, Any]:
        """Return the responses of the brokers that gave one; asks each broker once.

        Raises:
            ClusterRefused: a broker says no to the whole request.
        """
        answered: dict[BrokerId, Any] = {}
        for broker, found in self.wire.ask_each(requests, limit_seconds=limit_seconds).items():
            try:
                if isinstance(found, KafkaError):
                    raise found
                answered[broker] = _checked(found)
            except KafkaError as failure:
                if not passes(failure):
                    raise refusal(operation, failure) from failure
        return answered


def _checked(response: Any) -> Any:
    """The response itself, unless the whole request failed (its rows are filler then)."""
    raise_for(getattr(response, "error_code", 0), getattr(response, "error_message", None))
    return response


def _silent(operation: Operation, waited: float, failure: Exception) -> ClusterUnreachable:
    return ClusterUnreachable(
        f"the cluster did not answer {operation.name} within {waited:.0f} s;"
        f" the last attempt: {reason(failure)}\n"
        "  check that a majority of controllers is up and that brokers can reach the active one;"
        " what was begun stays as it is, the same command goes on from there"
    )
