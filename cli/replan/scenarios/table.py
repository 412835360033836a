"""All commands by name: the one place that knows every family."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from replan.faults.read import FIRST_WORDS
from replan.faults.token_reader import TokenReader
from replan.scenarios.applying import (
    abandon,
    apply,
    cancel,
    clear,
    interrupt,
    kill_process,
    resume,
    tick,
)
from replan.scenarios.effect_boundary import at, inject
from replan.scenarios.inspection import journal, show, status, throttles
from replan.scenarios.planning import drift, elect, placement, plan, rollback
from replan.scenarios.session import Session
from replan.scenarios.setup import cluster, disk, topic

Command = Callable[[Session, TokenReader, Sequence[str]], str]


WITH_BODY = frozenset({"placement"})
"""Commands that have lines below them."""

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "abandon": abandon,
        "apply": apply,
        "at": at,
        "cancel": cancel,
        "clear": clear,
        "cluster": cluster,
        "crash": kill_process,
        "disk": disk,
        "drift": drift,
        "elect": elect,
        "interrupt": interrupt,
        "journal": journal,
        "placement": placement,
        "plan": plan,
        "resume": resume,
        "rollback": rollback,
        "show": show,
        "status": status,
        "throttles": throttles,
        "tick": tick,
        "topic": topic,
        **dict.fromkeys(FIRST_WORDS, inject),
    }
)
