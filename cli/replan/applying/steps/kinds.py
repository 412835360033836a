"""All kinds of step beside moves, in the order in which they are sent; a new one needs a line here."""

from collections.abc import Sequence

from replan.applying.journal.ledger import Ledger
from replan.applying.observation import Job
from replan.applying.steps.creating import CREATES
from replan.applying.steps.log_moves import LOG_MOVES
from replan.applying.steps.recovering import RECOVERIES
from replan.applying.steps.standing_throttles import STANDING_THROTTLES
from replan.applying.steps.step import AnyKind
from replan.model.control_plane import Look
from replan.model.names import TopicPartition
from replan.model.replica_logs import LogReader, ProbedLogs
from replan.planning.plans.plan import Plan

KINDS: tuple[AnyKind, ...] = (STANDING_THROTTLES, LOG_MOVES, CREATES, RECOVERIES)


def kinds_of(plan: Plan) -> Sequence[AnyKind]:
    """Those that a plan has steps of: an application goes by these, and enters no other."""
    return [kind for kind in KINDS if kind.is_in(plan)]


def logs_for_tick(
    reader: LogReader, job: Job, ledger: Ledger, look: Look
) -> dict[TopicPartition, ProbedLogs]:
    """What the logs hold that a tick is decided by beside its look."""
    return {
        name: logs
        for kind in kinds_of(job.plan)
        for name, logs in kind.logs(reader, job, ledger, look).items()
    }
