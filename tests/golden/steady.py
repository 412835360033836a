"""Running stories on a controller whose sessions are so short that a busy machine can end them.

Here belongs `steadily` alone: what runs is in `language`, on what in `controller_driver`.
"""

from collections.abc import Callable

from tests.kafka.harness.fake_brokers import FakeBrokers, Refused

ATTEMPTS = 5


def steadily(controller: FakeBrokers, tell: Callable[[], None]) -> None:
    """Run a story; a failure counts only where heartbeats came in time meanwhile, else it is run again."""
    for _ in range(ATTEMPTS - 1):
        late = controller.late_rounds()
        try:
            tell()
        except (AssertionError, Refused, TimeoutError):
            if controller.late_rounds() == late:
                raise
        else:
            return
    tell()
