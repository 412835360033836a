"""Which brokers have not answered, and when to ask them again: nobody waits long for the same one twice in a minute."""

import time
from dataclasses import dataclass

from kafka.errors import KafkaConnectionError

from replan.model.names import BrokerId

LONGEST_BACK_OFF_SECONDS = 60.0
_LONG_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class _Silent:
    since: float
    failures: int
    ask_again_at: float
    reason: str


class Silence:
    """The memory of one process; times are monotonic seconds."""

    def __init__(self) -> None:
        self._silent: dict[BrokerId, _Silent] = {}

    def heard(self, broker: BrokerId) -> None:
        """It answers."""
        self._silent.pop(broker, None)

    def missed(self, broker: BrokerId, waited_seconds: float, reason: str) -> None:
        """It does not: ask again in a minute if that cost a long wait, else after 1, 2, 4 ... seconds."""
        now = time.monotonic()
        before = self._silent.get(broker)
        failures = 1 if before is None else before.failures + 1
        back_off = LONGEST_BACK_OFF_SECONDS
        if waited_seconds < _LONG_WAIT_SECONDS:
            back_off = min(back_off, 2.0 ** (failures - 1))
        since = now - waited_seconds if before is None else before.since
        self._silent[broker] = _Silent(since, failures, now + back_off, reason)

    def knows(self, broker: BrokerId) -> bool:
        """Whether it did not answer when it was asked last."""
        return broker in self._silent

    def why_not(self, broker: BrokerId) -> KafkaConnectionError | None:
        """Why a broker is not asked now, if so."""
        found, now = self._silent.get(broker), time.monotonic()
        if found is None or found.ask_again_at <= now:
            return None
        return KafkaConnectionError(
            f"broker {broker} has not answered for {now - found.since:.0f} s ({found.reason});"
            f" it is asked again in {found.ask_again_at - now:.0f} s"
        )
