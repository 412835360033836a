"""The names of reasons, as JSON has them."""

import re

from replan.applying.reasons.ends import EndReason
from replan.applying.reasons.notes import Leftover, Note
from replan.applying.reasons.waits import HoldReason


def kind_of(reason: HoldReason | EndReason | Note | Leftover) -> str:
    """The name of a reason in JSON: `new-broker-fenced`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", type(reason).__name__).lower()
