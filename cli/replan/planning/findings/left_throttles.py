"""Throttles that nothing needs: whoever set them has left them behind."""

from collections.abc import Iterator

import numpy as np

from replan.model.configs import LOG_DIRS_RATE, ConfigSource, SettingName
from replan.model.declared.placement import StandingThrottles
from replan.model.declared.topic_patterns import matches
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot, topic_codes


def left_throttles(
    snapshot: Snapshot, standing: StandingThrottles | None = None
) -> Iterator[tuple[SettingName, str]]:
    """Each with its value: lists of topics where no reassignment runs, rates of brokers while none runs anywhere, and
    rates of copies between log directories where no copy may be on its way on that broker.

    `standing`: what is declared to stay, of lists and of rates of reassignments. Values of files and defaults throttle
    nothing of their own accord.
    """
    moving = _moving_topics(snapshot)
    for setting, listed in snapshot.throttled_lists():
        declared = standing is not None and any(matches(p, setting.name) for p in standing.topics)
        if setting.name not in moving and not declared:
            yield setting, listed
    for setting, config in snapshot.throttle_rates():
        broker = BrokerId(int(setting.name))
        if setting.key == LOG_DIRS_RATE:
            needed = snapshot.may_copy_within(broker)
        else:
            needed = bool(moving) or (standing is not None and broker in standing.brokers)
        if config.source is ConfigSource.BROKER and not needed:
            yield setting, config.value


def _moving_topics(snapshot: Snapshot) -> frozenset[str]:
    codes = np.unique(topic_codes(snapshot.partitions)[snapshot.moving])
    names = snapshot.topics.column("name")
    return frozenset(names[int(code)].as_py() for code in codes)
