"""The controller's answers in words, and what it refuses of a fault."""

from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.simulator.cluster.faults import Ask, Fault
from replan.simulator.controller.decide import perform
from replan.simulator.controller.state import ClusterState


def answer_in_words(answer: Answer) -> str | None:
    """An answer that is not simply yes."""
    match answer:
        case Accepted():
            return None
        case Rejected(code, name, message):
            return f"{code} {name}{': ' + message if message else ''}"
        case OutcomeUnknown(reason):
            return f"outcome unknown, {reason}"


def refusals(cluster: ClusterState, fault: Fault) -> list[str]:
    """What the controller would refuse of a fault now, with its codes and words."""
    if not isinstance(fault, Ask):
        return []
    _, decision = perform(cluster, fault.command)
    answers = [decision.whole, *(answer for _, answer in decision.each)]
    return [text for answer in answers if (text := answer_in_words(answer)) is not None]
