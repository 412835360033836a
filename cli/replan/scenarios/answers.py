"""The controller's answers in words."""

from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected


def answer_in_words(answer: Answer) -> str | None:
    """An answer that is not simply yes."""
    match answer:
        case Accepted():
            return None
        case Rejected(code, name, message):
            return f"{code} {name}{': ' + message if message else ''}"
        case OutcomeUnknown(reason):
            return f"outcome unknown, {reason}"
