"""All kinds of step beside moves, in the order in which they are sent; a new one needs a line here."""

from replan.applying.steps.creating import CREATES
from replan.applying.steps.log_moves import LOG_MOVES
from replan.applying.steps.recovering import RECOVERIES
from replan.applying.steps.standing_throttles import STANDING_THROTTLES
from replan.applying.steps.step import AnyKind

KINDS: tuple[AnyKind, ...] = (STANDING_THROTTLES, LOG_MOVES, CREATES, RECOVERIES)
