"""Faults in a scenario: now, or later (`at 10s kill 3`). The words are in `faults`."""

from collections.abc import Sequence

from replan.faults.read import read_schedule
from replan.faults.token_reader import TokenReader
from replan.scenarios.session import Session
from replan.simulator.cluster.faults import At


def at(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`at 10s kill 3`: so long from now, whatever goes on then."""
    seconds = tokens.seconds()
    _schedule(session, seconds, read_schedule(tokens, session.fault_context()))
    return ""


def inject(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`kill 3`: inject it now; the command is the first of its words."""
    tokens.back()
    faults = read_schedule(tokens, session.fault_context())
    for now in (h for h in faults if h.seconds == 0):
        session.inject(now.fault)
    _schedule(session, 0.0, [h for h in faults if h.seconds > 0])
    return ""


def _schedule(session: Session, seconds: float, faults: Sequence[At]) -> None:
    begins = session.clock.now() + seconds
    session.agenda += [At(begins + h.seconds, h.fault) for h in faults]
