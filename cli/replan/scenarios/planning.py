"""`placement`, `plan`, `elect`, `drift`: what is declared, what would be done, what differs."""

import hashlib
from collections.abc import Sequence
from pathlib import PurePath

from replan.applying.journal.originals import before
from replan.applying.steps.probing import with_logs
from replan.errors import BadScenario, ReplanError
from replan.faults.token_reader import TokenReader
from replan.model.declared.placement import Placement
from replan.model.names import BrokerId, parse_topic_partition
from replan.placement_file.load import load_sources
from replan.placement_file.yaml_text.events import fastest_parser
from replan.placement_file.yaml_text.sources import Source
from replan.planning.elections.preferred import preferred_elections
from replan.planning.elections.recover import (
    RecoveryRequest,
    partitions_to_probe,
    recovery_elections,
)
from replan.planning.elections.selection import Selection
from replan.planning.findings.drift_report import drift_report
from replan.planning.making.planner import make_plan
from replan.planning.making.recoveries import declared_wishes
from replan.planning.making.way_back import WayBack, way_back
from replan.planning.plans.plan import Plan
from replan.planning.recovery.recovery import Method
from replan.reporting.application.election_text import election_results, render_elections
from replan.reporting.drift.drift_text import render_drift
from replan.reporting.plans.recovery_text import render_recoveries
from replan.reporting.plans.steps_text import render_steps
from replan.scenarios.session import Session

VERSION = "version: 1"


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
    above = [""] * (int(line) - 1) + ["" if versioned else indent + VERSION]
    return Source(PurePath(path).name, "\n".join([*above, *body]) + "\n")


def plan(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`plan`: make a plan, and keep it for `apply`."""
    tokens.end()
    return render_steps(planned(session))


def planned(session: Session) -> Plan:
    """Make a plan of what is declared, and keep it."""
    placement, seen = _placement(session), session.observe()
    seen = with_logs(session.plane, seen, declared_wishes(placement, seen))
    made = make_plan(placement, seen)
    session.keep(made)
    return made


def rollback(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`rollback`: make the plan back over the last application, and keep it for `apply`."""
    tokens.end()
    found = before(session.ledger(), None)
    wanted = WayBack(
        application=found.application.id,
        origins=found.origins,
        digest=hashlib.sha256(found.application.id.encode()).hexdigest(),
        grown=found.grown,
        within=found.within,
        recovered=found.recovered,
        settings=found.settings,
        throttle=found.throttle,
    )
    session.keep(made := way_back(wanted, session.observe()))
    return render_steps(made)


def drift(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`drift`: what differs from what is declared."""
    tokens.end()
    found = drift_report(_placement(session), session.observe())
    return render_drift(found)


def elect(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`elect preferred all|orders|orders-0`: the plan of these elections, kept for `apply`; what is declared holds.

    Likewise `elect best-log …`, `elect unclean …` and `elect designated 3 …`; `giving up 1` in front of the partitions.
    """
    kind = tokens.one("preferred, best-log, unclean or designated")
    if kind != "preferred":
        return _recover(session, tokens, kind)
    words = _names(tokens)
    found = preferred_elections(_selection(words), session.observe(), session.placement, {})
    session.keep(found.plan)
    return render_elections(election_results(found, None), None, found.at_rest)


METHODS = {
    "best-log": Method.BALANCED,
    "aggressive": Method.AGGRESSIVE,
    "unclean": Method.UNCLEAN,
    "designated": Method.DESIGNATED,
}


def _recover(session: Session, tokens: TokenReader, kind: str) -> str:
    if kind not in METHODS:
        raise tokens.wrong(f"elect {kind}: write one of preferred, {', '.join(METHODS)}")
    leader = tokens.broker() if METHODS[kind] is Method.DESIGNATED else None
    given_up = set[BrokerId]()
    while tokens.phrase("giving", "up"):
        given_up.add(tokens.broker())
    selection = _selection(_names(tokens))
    leaders = () if leader is None else tuple((n, leader) for n in selection.partitions)
    asked = RecoveryRequest(selection, METHODS[kind], leaders, frozenset(given_up))
    seen = session.observe()
    seen = with_logs(session.plane, seen, partitions_to_probe(selection, seen))
    found = recovery_elections(asked, seen, session.placement, {})
    session.keep(found.plan)
    return render_recoveries(found.plan, found.candidates)


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
