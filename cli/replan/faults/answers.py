"""The controller's answers in words, and what it refuses of a happening."""

from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.simulator.cluster.faults import Ask, Happening
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


def refusals(cluster: ClusterState, happening: Happening) -> list[str]:
    """What the controller would refuse of a happening now, with its codes and words."""
    if not isinstance(happening, Ask):
        return []
    _, decision = perform(cluster, happening.command)
    answers = [decision.whole, *(answer for _, answer in decision.each)]
    return [text for answer in answers if (text := answer_in_words(answer)) is not None]
