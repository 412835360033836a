"""A snapshot with what the journal says of it: what it adds (remembered orders, the open application and where that
moves partitions to), and what is only there for a while.

Throttles that moves have set are neither drift nor anything that a plan is to change: planning sees what was there
before them, which is what they are restored to.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from replan.applying.journal.ledger import Ledger
from replan.applying.views.standing import OpenApplication
from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    Configs,
    ConfigSource,
    ConfigValue,
    elements,
    own_value,
)
from replan.model.names import BrokerId
from replan.model.snapshot import OwnApplication, Snapshot


def as_planned_from(
    seen: Snapshot, ledger: Ledger, application: OpenApplication | None = None
) -> Snapshot:
    """The snapshot as it is planned from; `application`: the open one of that journal."""
    remembered = {**seen.remembered, **ledger.remembered()}
    return replace(
        seen,
        remembered=remembered,
        application=None if application is None else _own(application, seen, ledger),
        topics=_without_entries(seen.topics, ledger),
        broker_configs={
            broker: _without_rates(broker, configs, ledger)
            for broker, configs in seen.broker_configs.items()
        },
    )


def _own(application: OpenApplication, seen: Snapshot, ledger: Ledger) -> OwnApplication:
    """What it has not finished, but for what another tool reassigns: that is judged by where the other one leads it."""
    running = seen.states(np.flatnonzero(seen.moving).tolist())
    others = {found.partition for found in running if not ledger.began(found)}
    return OwnApplication(
        application.id,
        application.owner,
        at_work=application.process is not None,
        targets={n: to for n, to in application.targets.items() if n not in others},
    )


def _without_entries(topics: pa.Table, ledger: Ledger) -> pa.Table:
    columns = {LEADER_REPLICAS: "leader_throttled", FOLLOWER_REPLICAS: "follower_throttled"}
    names = topics.column("name").to_pylist() if ledger.entries else []
    for key, column in columns.items():
        known = {topic: saved for (topic, config), saved in ledger.entries.items() if config == key}
        if not known:
            continue
        at = topics.schema.get_field_index(column)
        values = topics.column(column).to_pylist()
        for row, name in enumerate(names):
            if name in known:
                kept = [e for e in elements(values[row]) if e not in known[name].ours]
                empty = "" if known[name].overridden else None
                values[row] = ",".join(kept) if kept else empty
        topics = topics.set_column(at, topics.schema.field(at), pa.array(values, pa.string()))
    return topics


def _without_rates(broker: BrokerId, configs: Configs, ledger: Ledger) -> Configs:
    found = dict(configs)
    for key in configs:
        saved = ledger.rates.get((broker, key))
        if saved is not None and own_value(configs, key) in saved.ours:
            del found[key]
            if saved.before is not None:
                found[key] = ConfigValue(saved.before, ConfigSource.BROKER)
    return found
