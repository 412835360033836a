"""The commands that plan and those that show.

`placement`, `plan`, `rollback`, `elect` and `drift` plan and compare; `show`, `status`, `throttles` and `journal` say
how things are.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.originals import before
from replan.applying.journal.records import MoveRecord, Order, SavedRate, SavedReplicaList
from replan.applying.run.opening import open_plan
from replan.applying.steps.recovering import with_logs
from replan.applying.views.by_journal import (
    NOT_LOOKED_UP,
    open_application_view,
    unknown_throttles,
)
from replan.applying.views.progress import read_progress
from replan.applying.views.waiting import watched
from replan.errors import BadScenario, ReplanError
from replan.faults.token_reader import TokenReader
from replan.model.declared.placement import Placement
from replan.model.names import BrokerId, TopicPartition, parse_topic_partition
from replan.placement_file.load import load_sources
from replan.placement_file.sources import Source
from replan.placement_file.yaml_text import fastest_parser
from replan.planning.elections.preferred import preferred_elections
from replan.planning.elections.recover import (
    RecoveryRequest,
    partitions_to_probe,
    recovery_elections,
)
from replan.planning.elections.selection import Selection
from replan.planning.findings.drift_report import drift_report
from replan.planning.findings.health import health_of
from replan.planning.findings.replica_progress import (
    AskedPartition,
    reassignment_state,
    replica_rows,
)
from replan.planning.making.planner import make_plan
from replan.planning.making.recoveries import declared_wishes
from replan.planning.making.way_back import way_back
from replan.planning.plans.plan import Plan
from replan.planning.recovery.recovery import RecoveryMethod
from replan.reporting.application.outcome_text import election_results, render_elections
from replan.reporting.cluster.status_text import ClusterStatus, render_status
from replan.reporting.drift.drift_text import render_drift
from replan.reporting.plans.recovery_text import render_recoveries
from replan.reporting.plans.steps_text import render_steps
from replan.scenarios.effect_boundary import SIDES, standing_in_words
from replan.scenarios.session import Session, at_work
from replan.simulator.controller.state import Partition
from replan.wording import brokers, rate

PLACEMENT_VERSION = "version: 1"


def placement(session: Session, tokens: TokenReader, body: Sequence[str]) -> str:
    """`placement` with YAML below it; `version: 1` need not be written. A plan that was made before is forgotten."""
    tokens.end()
    if not body:
        raise tokens.wrong("a placement has its YAML in the lines below it, indented")
    try:
        session.placement = load_sources([_source(tokens.where, body)], fastest_parser())
    except ReplanError as error:
        session.wrong_placement = str(error)
        raise
    session.plan = None
    return ""


def _source(where: str, body: Sequence[str]) -> Source:
    """The body at its own lines of the file, so that errors name the right line.

    Without folders: a scenario is the same wherever it is run from.
    """
    path, _, line = where.rpartition(":")
    indent = body[0][: len(body[0]) - len(body[0].lstrip())]
    versioned = any(text.strip().startswith("version:") for text in body)
    above = [""] * (int(line) - 1) + ["" if versioned else indent + PLACEMENT_VERSION]
    return Source(PurePath(path).name, "\n".join([*above, *body]) + "\n")


def plan(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`plan`: make a plan, and keep it for `apply`."""
    tokens.end()
    return render_steps(planned(session))


def planned(session: Session) -> Plan:
    """Make a plan of what is declared, and keep it."""
    placement, snapshot = _placement(session), session.observe()
    snapshot = with_logs(session.plane, snapshot, declared_wishes(placement, snapshot))
    made = make_plan(placement, snapshot)
    session.keep(made)
    return made


def rollback(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`rollback`: make the plan back over the last application, and keep it for `apply`."""
    tokens.end()
    made = way_back(before(session.ledger(), None), session.observe())
    session.keep(made)
    return render_steps(made)


def drift(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`drift`: what differs from what is declared."""
    tokens.end()
    report = drift_report(_placement(session), session.observe())
    return render_drift(report)


def elect(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`elect preferred all|orders|orders-0`: the plan of these elections, kept for `apply`; what is declared holds.

    Likewise `elect best-log …`, `elect unclean …` and `elect designated 3 …`; `giving up 1` in front of the partitions.
    """
    kind = tokens.one("preferred, best-log, unclean or designated")
    if kind != "preferred":
        return _recover(session, tokens, kind)
    words = _names(tokens)
    elections = preferred_elections(_selection(words), session.observe(), session.placement, {})
    session.keep(elections.plan)
    return render_elections(election_results(elections, None), None, elections.at_rest)


RECOVERY_METHODS = {
    "best-log": RecoveryMethod.BALANCED,
    "aggressive": RecoveryMethod.AGGRESSIVE,
    "unclean": RecoveryMethod.UNCLEAN,
    "designated": RecoveryMethod.DESIGNATED,
}


def _recover(session: Session, tokens: TokenReader, kind: str) -> str:
    if kind not in RECOVERY_METHODS:
        raise tokens.wrong(f"elect {kind}: write one of preferred, {', '.join(RECOVERY_METHODS)}")
    leader = tokens.broker() if RECOVERY_METHODS[kind] is RecoveryMethod.DESIGNATED else None
    given_up = set[BrokerId]()
    while tokens.phrase("giving", "up"):
        given_up.add(tokens.broker())
    selection = _selection(_names(tokens))
    leaders = () if leader is None else tuple((n, leader) for n in selection.partitions)
    request = RecoveryRequest(selection, RECOVERY_METHODS[kind], leaders, frozenset(given_up))
    snapshot = session.observe()
    snapshot = with_logs(session.plane, snapshot, partitions_to_probe(selection, snapshot))
    recoveries = recovery_elections(request, snapshot, session.placement, {})
    session.keep(recoveries.plan)
    return render_recoveries(recoveries.plan, recoveries.candidates)


def _names(tokens: TokenReader) -> list[str]:
    words = [tokens.one("`all`, a topic or a partition")]
    while tokens:
        words.append(tokens.one("a topic or a partition"))
    return words


def _selection(words: Sequence[str]) -> Selection:
    if words == ["all"]:
        return Selection(everything=True)
    try:
        return Selection(partitions=tuple(parse_topic_partition(word) for word in words))
    except ValueError:
        return Selection(topics=tuple(words))


def _placement(session: Session) -> Placement:
    if session.placement is None and session.wrong_placement:
        raise BadScenario(
            f"nothing is declared, since the placement is wrong\n{session.wrong_placement}"
        )
    if session.placement is None:
        raise BadScenario("nothing is declared yet; write a `placement` first")
    return session.placement


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
    snapshot = session.plane.observe()
    health = health_of(snapshot)
    partitions = [AskedPartition(s.partition) for s in health.running]
    now = read_progress(session.plane, [a.partition for a in partitions])
    ledger = session.ledger()
    plan = open_plan(ledger)
    progress_now = (
        None if plan is None else watched(plan, ledger, session.plane, session.clock.now())
    )
    waits = NOT_LOOKED_UP if progress_now is None else progress_now.waits
    return render_status(
        ClusterStatus(
            health=health,
            rows=replica_rows(partitions, now),
            reassignments={a.partition: reassignment_state(a, now) for a in partitions},
            observed_at=snapshot.observed_at,
            application=open_application_view(ledger, plan, at_work(session), waits),
            progress=None if progress_now is None else progress_now.progress,
            unknown_throttles=unknown_throttles(snapshot, ledger),
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
                given_up = f", now {brokers(record.left)}" if record.left else ""
                yield f"remembered: {record.partition} {brokers(record.replicas)}{given_up}"
            case _:
                pass


def _kept(record: SavedReplicaList | SavedRate) -> str:
    return ", kept" if record.kept else ""


def _own(own: MoveRecord) -> str:
    if own.asked is None:
        return own.status
    last = (
        f"{own.asked.kind} {brokers(own.asked.replicas)}" if own.asked.replicas else own.asked.kind
    )
    sure = "" if own.asked.confirmed else " (outcome not known yet)"
    return f"{own.status}, asked for {last}{sure}"
