"""Which brokers have not answered, and when to ask them again: nobody waits long for the same one twice in a minute."""

import time
from dataclasses import dataclass

from kafka.errors import KafkaConnectionError, KafkaError

from replan.kafka.failures import reason
from replan.model.names import BrokerId

LONGEST_BACK_OFF_SECONDS = 60.0


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
        """It answers, or there is reason to think so."""
        self._silent.pop(broker, None)

    def missed(self, broker: BrokerId, failure: KafkaError) -> None:
        """It does not: ask again in a minute, or after 1, 2, 4 ... seconds where it refuses a connection at once."""
        now = time.monotonic()
        before = self._silent.get(broker)
        failures = 1 if before is None else before.failures + 1
        back_off = LONGEST_BACK_OFF_SECONDS
        if isinstance(failure, KafkaConnectionError):
            back_off = min(back_off, 2.0 ** (failures - 1))
        since = now if before is None else before.since
        self._silent[broker] = _Silent(since, failures, now + back_off, reason(failure))

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
