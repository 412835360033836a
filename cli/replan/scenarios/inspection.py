"""`show`, `status`, `throttles`, `journal`: the state of things."""

from collections.abc import Iterator, Sequence

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Order, SavedRate, SavedReplicaList
from replan.applying.journal.steps import MoveRecord
from replan.applying.run.opening import open_plan
from replan.applying.views.found_throttles import unknown_throttles
from replan.applying.views.progress import read_progress
from replan.applying.views.standing import NOT_LOOKED_UP, open_application
from replan.applying.views.waiting import watched
from replan.faults.token_reader import TokenReader
from replan.model.names import TopicPartition
from replan.planning.findings.health import judge
from replan.planning.findings.replica_progress import Asked, rows_of, standing
from replan.reporting.cluster.status_text import Status, render_status
from replan.scenarios.session import Session, at_work
from replan.scenarios.throttles import SIDES, standing_in_words
from replan.simulator.controller.state import Partition
from replan.wording import brokers, rate


def show(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`show [TOPIC]`: each partition as the controller has it."""
    wanted = tokens.one("a topic") if tokens else None
    tokens.end()
    cluster = session.plane.simulation.cluster
    if wanted is not None and wanted not in cluster.topics:
        return f"no topic {wanted}"
    return "\n".join(
        _partition(name, partition)
        for name, partition in cluster.partitions()
        if wanted is None or name.topic == wanted
    )


def _partition(name: TopicPartition, partition: Partition) -> str:
    parts = [f"replicas {brokers(partition.replicas)}"]
    parts += [f"adding {brokers(partition.adding)}"] if partition.adding else []
    parts += [f"removing {brokers(partition.removing)}"] if partition.removing else []
    parts += [f"in sync {brokers(tuple(sorted(partition.isr)))}"]
    parts += ["no leader" if partition.leader is None else f"leader {partition.leader}"]
    parts += [f"eligible {brokers(partition.elr)}"] if partition.elr else []
    return f"{name}: {', '.join(parts)}"


def status(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`status`: health and running reassignments, as the command shows them."""
    tokens.end()
    seen = session.plane.observe()
    health = judge(seen)
    asked = [Asked(s.partition) for s in health.running]
    now = read_progress(session.plane, [a.partition for a in asked])
    ledger = session.ledger()
    plan = open_plan(ledger)
    found = None if plan is None else watched(plan, ledger, session.plane, session.clock.now())
    waits = NOT_LOOKED_UP if found is None else found.waits
    return render_status(
        Status(
            health=health,
            rows=rows_of(asked, now),
            standings={a.partition: standing(a, now) for a in asked},
            observed_at=seen.observed_at,
            application=open_application(ledger, plan, at_work(session), waits),
            progress=None if found is None else found.progress,
            unknown_throttles=unknown_throttles(seen, ledger),
            own_throttles=ledger.throttles,
            own=frozenset(s.partition for s in health.running if ledger.began(s)),
        )
    )


def throttles(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`throttles`: every throttle that is set in the cluster, whoever set it."""
    tokens.end()
    stored = session.plane.simulation.cluster.configs
    return "\n".join(standing_in_words(stored)) or "none"


def journal(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`journal`: what is open, what was there before ours, what is remembered."""
    tokens.end()
    return "\n".join(_ledger(session.ledger())) or "nothing is open"


def _ledger(ledger: Ledger) -> Iterator[str]:
    if ledger.application is not None:
        yield f"open: application {ledger.application.id} of {ledger.application.owner}"
    for record in ledger.records.values():
        match record:
            case MoveRecord():
                yield f"  {record.partition} {_own(record)}"
            case SavedReplicaList():
                before = "an override" if record.overridden else "no override"
                yield (
                    f"  {record.topic} {SIDES[record.config]} list: {before} before, "
                    f"ours {','.join(record.ours) or 'none'}{_kept(record)}"
                )
            case SavedRate():
                before = "none" if record.before is None else rate(int(record.before))
                ours = ", ".join(rate(int(r)) for r in record.ours) + _kept(record)
                yield f"  broker {record.broker} {SIDES[record.config]} rate: {before} before, ours {ours}"
            case Order():
                left = f", now {brokers(record.left)}" if record.left else ""
                yield f"remembered: {record.partition} {brokers(record.replicas)}{left}"
            case _:
                pass


def _kept(record: SavedReplicaList | SavedRate) -> str:
    return ", kept" if record.kept else ""


def _own(own: MoveRecord) -> str:
    if own.asked is None:
        return own.status
    asked = (
        f"{own.asked.kind} {brokers(own.asked.replicas)}" if own.asked.replicas else own.asked.kind
    )
    sure = "" if own.asked.confirmed else " (outcome not known yet)"
    return f"{own.status}, asked for {asked}{sure}"
