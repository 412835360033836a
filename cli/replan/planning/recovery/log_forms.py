"""Probed logs as snapshots and plans write them: the form, there and back."""

from typing import Annotated

import msgspec

from replan.documents.typed import Form, Int32, Int64, ValidBrokerId
from replan.model.names import BrokerId
from replan.model.replica_logs import (
    NO_LEADER_EPOCH,
    ProbedLog,
    ProbeFailure,
    ProbeProblem,
    ReplicaLog,
)

Epoch = Annotated[int, msgspec.Meta(ge=NO_LEADER_EPOCH, le=2**31 - 1)]


class LogForm(Form, frozen=True, kw_only=True):
    """One replica's log, or why it is not known: then it has a `problem`, and no `end`."""

    broker: ValidBrokerId
    end: Int64 | None = None
    """The offset after its last record."""
    last_epoch: Epoch = NO_LEADER_EPOCH
    """Of its last record; -1 where it has none."""
    start: Int64 = 0
    high_watermark: Int64 = 0
    """What it last knew to be on all in-sync replicas."""
    leader_epoch: Epoch = NO_LEADER_EPOCH
    """Of the partition, as its broker knew it."""
    epochs: tuple[tuple[Int32, Int64], ...] = ()
    """Epochs that are known to be in it, each with where it ends."""
    problem: ProbeProblem | None = None
    code: int | None = None
    """Kafka's."""
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.end is None) == (self.problem is None):
            raise ValueError(": expected an `end` or a `problem`, one of them")


def log_form(broker: BrokerId, log: ProbedLog) -> LogForm:
    """A log as it is written."""
    if isinstance(log, ProbeFailure):
        return LogForm(broker=broker, problem=log.problem, code=log.code, reason=log.reason)
    return LogForm(
        broker=broker,
        end=log.end,
        last_epoch=log.last_epoch,
        start=log.start,
        high_watermark=log.high_watermark,
        leader_epoch=log.leader_epoch,
        epochs=tuple(sorted(log.epochs.items())),
    )


def read_log(form: LogForm) -> ProbedLog:
    """A log as it was written."""
    if form.problem is not None or form.end is None:
        return ProbeFailure(form.problem or ProbeProblem.SILENT, form.code, form.reason)
    return ReplicaLog(
        end=form.end,
        last_epoch=form.last_epoch,
        start=form.start,
        high_watermark=form.high_watermark,
        leader_epoch=form.leader_epoch,
        epochs=dict(form.epochs),
    )
