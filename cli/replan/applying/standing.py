"""How an open application and the throttles stand now, for those who only look: nothing is asked or written.

What a partition waits for is what `decide` would say of it in its first tick, so a process need not run for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from replan.applying.decide import decide
from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Application
from replan.applying.outcome import PartitionResult, Result, results_of
from replan.applying.reasons.waits import AwaitingThrottle, HoldReason
from replan.applying.run_state import first_state
from replan.applying.settings import Settings
from replan.applying.tick_input import Job, TickInput
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigScope,
    ConfigSource,
)
from replan.model.control_plane import ClusterReader
from replan.model.names import Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.plan import Plan


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


def open_application(
    ledger: Ledger,
    plan: Plan | None,
    process: str | None,
    reader: ClusterReader | None = None,
) -> OpenApplication | None:
    """The open application of a journal; what its partitions wait for where there is a cluster to look at.

    `plan` is its plan; None where the journal does not hold one that can be read.
    """
    application = ledger.application
    if application is None:
        return None
    order = list(ledger.owned) if plan is None else [m.partition for m in plan.moves]
    targets = {name: record.target for name, record in ledger.open.items()}
    targets |= {m.partition: m.target for m in (() if plan is None else plan.moves)}
    holds = {} if plan is None or reader is None else _holds(plan, ledger, reader)
    results = results_of(order, ledger, holds)
    unfinished = tuple(r for r in results if r.result in {Result.RUNNING, Result.WAITING})
    return OpenApplication(
        id=application.id,
        owner=application.owner,
        process=process,
        unfinished=unfinished,
        ended=len(results) - len(unfinished),
        targets={r.partition: targets[r.partition] for r in unfinished},
        throttled=bool(ledger.throttles),
    )


def _holds(
    plan: Plan, ledger: Ledger, reader: ClusterReader
) -> Mapping[TopicPartition, HoldReason]:
    """What each unfinished partition waits for, as far as a process would look at it now."""
    job = Job.of(plan, Settings(), end_text=lambda _name, _reason: "")
    state = first_state(job, ledger, 0.0).with_room(job, reader.log_dirs())
    state, candidates = state.chosen(job, 0.0)
    seen = reader.look(state.wanted(job, candidates))
    tick = TickInput(job=job, seen=seen, now=0.0, ended=0.0, candidates=candidates)
    decision, _ = decide(tick, state.observed(tick))
    return {n: why for n, why in decision.holds.items() if not isinstance(why, AwaitingThrottle)}


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
        for key in (LEADER_RATE, FOLLOWER_RATE):
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
