"""How an open application and the throttles stand now, for those who only look: nothing is asked or written.

Every command that plans or reports imports this, so it imports nothing of what decides. What partitions wait for is in
`waiting`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Application
from replan.applying.reasons.waits import HoldReason
from replan.applying.views.outcome import PartitionResult, Result, results_of
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    ConfigScope,
    ConfigSource,
)
from replan.model.names import Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan

NO_HOLDS: Mapping[TopicPartition, HoldReason] = {}


@dataclass(frozen=True, slots=True)
class OpenApplication:
    """The application that is open on a cluster."""

    id: str
    owner: str
    process: str | None
    """What performs it now: `pid 12 on host since …`; None where it is interrupted."""
    unfinished: tuple[PartitionResult, ...]
    """In plan order; what each waits for only where it was looked up."""
    ended: int
    targets: Mapping[TopicPartition, Replicas]
    """Where the unfinished partitions go."""
    throttled: bool
    """Whether throttle settings of replan are in the cluster."""
    paused_by: str = ""
    cancelled_by: str = ""
    takes_back: str = ""
    """The cancelled application that it takes back."""


def open_application(
    ledger: Ledger,
    plan: Plan | None,
    process: str | None,
    holds: Mapping[TopicPartition, HoldReason] = NO_HOLDS,
) -> OpenApplication | None:
    """The open application of a journal; `holds`: what its partitions wait for, where that was looked up.

    `plan` is its plan; None where the journal does not hold one that can be read.
    """
    application = ledger.application
    if application is None:
        return None
    order = list(ledger.owned) if plan is None else [m.partition for m in plan.moves]
    targets = {name: record.target for name, record in ledger.open.items()}
    targets |= {m.partition: m.target for m in (() if plan is None else plan.moves)}
    results = results_of(order, ledger, holds)
    unfinished = tuple(
        r if r.last_step_at else replace(r, last_step_at=application.opened_at)
        for r in results
        if r.result in {Result.RUNNING, Result.WAITING}
    )
    return OpenApplication(
        id=application.id,
        owner=application.owner,
        process=process,
        unfinished=unfinished,
        ended=len(results) - len(unfinished),
        targets={r.partition: targets[r.partition] for r in unfinished},
        throttled=bool(ledger.throttles),
        paused_by=application.paused_by,
        cancelled_by=application.cancelled_by,
        takes_back=application.takes_back,
    )


@dataclass(frozen=True, slots=True)
class StandingThrottle:
    """A throttle setting that is in the cluster."""

    scope: ConfigScope
    name: str
    """The topic, or the broker's id."""
    key: str
    value: str


def knows_nothing(ledger: Ledger) -> bool:
    """Whether a journal has never had an application: it is new, or another one was lost."""
    return not any(isinstance(record, Application) for record in ledger.records.values())


def unknown_throttles(snapshot: Snapshot, ledger: Ledger) -> list[StandingThrottle]:
    """The dynamic throttle settings of a cluster that its journal does not know: nobody can say whose they are."""
    found = list[StandingThrottle]()
    for broker, configs in sorted(snapshot.broker_configs.items()):
        for key in (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE):
            rate, known = configs.get(key), ledger.rates.get((broker, key))
            ours = () if known is None else known.ours
            if rate is not None and rate.source is ConfigSource.BROKER and rate.value not in ours:
                found.append(StandingThrottle(ConfigScope.BROKER, str(broker), key, rate.value))
    for topic in snapshot.topics.to_pylist():
        for key, column in ((LEADER_REPLICAS, "leader"), (FOLLOWER_REPLICAS, "follower")):
            listed = topic[f"{column}_throttled"] or ""
            known_list = ledger.entries.get((topic["name"], key))
            entries = () if known_list is None else known_list.ours
            others = [entry for entry in listed.split(",") if entry and entry not in entries]
            if others:
                joined = ",".join(others)
                found.append(StandingThrottle(ConfigScope.TOPIC, topic["name"], key, joined))
    return found
