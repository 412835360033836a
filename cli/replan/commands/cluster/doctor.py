"""The command `doctor`: whether everything is ready, and what is missing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from replan.commands.frame.output import result
from replan.commands.shared.options import ExitZero, TextOrJson
from replan.commands.shared.target import Connection, JournaledTarget
from replan.errors import BadFile, ClusterRefused, ClusterUnreachable, Exit
from replan.wording import first_line

if TYPE_CHECKING:
    from replan.applying.views.by_journal import OwnedThrottle
    from replan.model.names import BrokerId
    from replan.model.snapshot import Snapshot
    from replan.planning.findings.checkup import Check


def doctor(
    *,
    form: TextOrJson = "text",
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Check whether replan can work with a cluster, and what there is to know before it does.

    Nothing is changed: whether it answers, what this user may do on it and on its topics, by command, the clocks,
    brokers, racks, sizes, partitions in danger, features, the journal, what another application or tool has left.

    Exit codes:
      0  everything is ready
      1  the cluster cannot be reached, or another error
      2  something is missing or worth a look (0 with --exit-zero)

    Examples:
      replan doctor --bootstrap-server kafka-1:9092
      replan doctor --simulated cluster.json --format json
    """
    from replan.applying.journal.ledger import Ledger
    from replan.applying.views.by_journal import owned_throttles
    from replan.planning.findings.checkup import CheckKind, Level, cluster_checks
    from replan.reporting.cluster.checkup_text import render_checkup, render_checkup_json

    if cluster.snapshot is not None:
        snapshot = cluster.observe()
        checks = [
            *cluster_checks(snapshot),
            _throttles(snapshot, 0, owned_throttles(snapshot, Ledger())),
        ]
    else:
        with cluster.connect() as connection:
            checks = list(_live(cluster, connection))
    order = tuple(CheckKind)
    checks.sort(key=lambda check: order.index(check.kind))
    match form:
        case "text":
            result(render_checkup(checks))
        case "json":
            result(render_checkup_json(checks))
    fine = all(check.level in {Level.OK, Level.NOTE} for check in checks)
    return Exit.OK if fine or exit_zero else Exit.CHANGES


def _live(cluster: JournaledTarget, connection: Connection) -> "Iterator[Check]":
    from replan.planning.findings.checkup import (
        clock_check,
        cluster_checks,
        permission_checks,
        unreadable_check,
    )

    if connection.access is not None:
        journals = cluster.journal_place.topics
        yield from permission_checks(connection.access(journals, None), journals)
    difference = connection.clock_difference()
    if difference is not None:
        yield clock_check(difference)
    try:
        snapshot = connection.control_plane.observe()
    except ClusterRefused as problem:
        yield unreadable_check(first_line(problem))
        return
    yield from cluster_checks(snapshot, _why_silent(connection, snapshot))
    yield from _journal(cluster, connection, snapshot)


def _why_silent(connection: Connection, snapshot: "Snapshot") -> "Mapping[BrokerId, str]":
    """What became of the connections to brokers that did not answer, with their addresses."""
    from replan.model.control_plane import Wanted

    if not snapshot.silent:
        return {}
    return connection.control_plane.look(Wanted(rates_of=snapshot.silent)).silent


def _journal_topics(cluster: JournaledTarget, connection: Connection) -> "Iterator[Check]":
    """Whether the topics of the journal and its lock keep what is written there; nothing where there are none yet."""
    from replan.commands.shared.journals import journal_topic_of
    from replan.planning.findings.checkup import Check, CheckKind, Level

    place = cluster.journal_place
    if place.path is not None:
        return
    topic = journal_topic_of(connection, place)
    exist = [reader for reader in topic.readers if reader.refresh()]
    flaws = [(reader.topic, flaw) for reader in exist for flaw in topic.flaws(reader)]
    if exist:
        level = Level.LOOK if flaws else Level.OK
        level = Level.WRONG if any(flaw.loses for _, flaw in flaws) else level
        texts = tuple(f"{name}: {flaw.text}" for name, flaw in flaws)
        yield Check(CheckKind.JOURNAL_TOPIC, level, len(flaws), texts)


def _journal(
    cluster: JournaledTarget, connection: Connection, snapshot: "Snapshot"
) -> "Iterator[Check]":
    """Whether the journal can be read, and what it says."""
    from replan.applying.views.by_journal import throttles_seen_twice
    from replan.commands.shared.journals import read_journal
    from replan.planning.findings.checkup import Check, CheckKind, Level

    try:
        ledger = read_journal(cluster, connection, snapshot.cluster_id).ledger
    except (BadFile, ClusterRefused, ClusterUnreachable) as problem:
        yield Check(CheckKind.JOURNAL, Level.WRONG, 1, (first_line(problem),))
        return
    yield Check(CheckKind.JOURNAL, Level.OK)
    yield from _journal_topics(cluster, connection)
    opened = ledger.application
    yield (
        Check(CheckKind.APPLICATION, Level.OK)
        if opened is None
        else Check(CheckKind.APPLICATION, Level.LOOK, 1, (opened.id,))
    )
    leftover = 0 if opened is not None else ledger.throttles
    throttles = throttles_seen_twice(snapshot, cluster.observe, ledger)
    yield _throttles(snapshot, leftover, throttles)


def _throttles(
    snapshot: "Snapshot", leftover: int, throttles: "Iterable[OwnedThrottle]"
) -> "Check":
    """Those of replan that are left, so many, and those of nobody that nothing needs, as `drift` judges them."""
    from replan.applying.views.by_journal import nobodys
    from replan.planning.findings.checkup import throttles_check
    from replan.planning.findings.left_throttles import left_throttles

    needless = {setting for setting, _ in left_throttles(snapshot)}
    named = [str(t.setting) for t in nobodys(throttles) if t.setting in needless]
    return throttles_check(leftover, named)
