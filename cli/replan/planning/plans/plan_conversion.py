"""A plan into the forms of its document, and back; each pair of functions says what one part of a plan is."""

from typing import cast

from replan.model.configs import SettingName
from replan.model.declared.placement import MoveThrottle, SideRates
from replan.model.names import BrokerId, TopicPartition
from replan.model.rates import JudgedBy
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.move_reasons import MoveReason
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Facts, Plan, PlanWarning, Refusal
from replan.planning.plans.plan_forms import (
    ConvergenceForm,
    LogMoveForm,
    LossForm,
    MoveForm,
    PlanForm,
    RecoveryForm,
    RefusalForm,
    SideForm,
    StandingForm,
    ThrottleForm,
    ThrottleKey,
    TopicForm,
    WarningForm,
)
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.planning.recovery.candidates import Loss
from replan.planning.recovery.log_forms import candidate_form, read_candidate
from replan.planning.recovery.recovery import Recovery


def form_of(plan: Plan) -> PlanForm:
    """The document of a plan, without its digest."""
    reasons = sorted({m.reason for m in plan.moves}, key=repr)
    numbers = {reason: i for i, reason in enumerate(reasons)}
    topics = {m.partition.topic: m for m in plan.moves}
    return PlanForm(
        format_version=1,
        kind="replan.plan",
        cluster_id=plan.cluster_id,
        cluster_name=plan.cluster_name,
        placement_digest=plan.placement_digest,
        placement_commit=plan.placement_commit,
        brokers={str(b): rack for b, rack in sorted(plan.racks.items())},
        throttle=_throttle(plan.throttle),
        convergence=None
        if plan.judged_by is None
        else ConvergenceForm(plan.judged_by.digest, plan.judged_by.unknown),
        allowed=dict(sorted(plan.allowed.items())),
        warnings=tuple(WarningForm(w.kind, dict(w.facts)) for w in plan.warnings),
        refusals=tuple(RefusalForm(*r.partition, r.rule, dict(r.facts)) for r in plan.refusals),
        conflicts=plan.conflicts,
        reasons=tuple(reasons),
        topics=tuple(
            TopicForm(name, of.topic_id, of.min_insync_replicas, of.unclean_election)
            for name, of in sorted(topics.items())
        ),
        standing=tuple(
            StandingForm(
                s.setting.scope,
                s.setting.name,
                cast("ThrottleKey", s.setting.key),
                s.before,
                s.after,
            )
            for s in plan.standing
        ),
        log_moves=tuple(
            LogMoveForm(
                m.partition.topic,
                m.topic_id,
                m.partition.partition,
                m.broker,
                m.source,
                m.target,
                m.bytes,
            )
            for m in plan.log_moves
        ),
        creates=plan.creates,
        recoveries=tuple(_recovery(r) for r in plan.recoveries),
        moves=tuple(_row(m, numbers[m.reason], plan) for m in plan.moves),
        digest="",
    )


def plan_of(form: PlanForm) -> Plan:
    """The plan that a document holds."""
    topics = {topic.name: topic for topic in form.topics}
    throttle = form.throttle
    return Plan(
        cluster_id=form.cluster_id,
        cluster_name=form.cluster_name,
        placement_digest=form.placement_digest,
        placement_commit=form.placement_commit,
        racks={BrokerId(int(broker)): rack for broker, rack in form.brokers.items()},
        standing=tuple(
            ThrottleSetting(SettingName(s.scope, s.name, s.key), s.before, s.after)
            for s in form.standing
        ),
        log_moves=tuple(
            LogMove(
                TopicPartition(m.topic, m.partition),
                m.topic_id,
                BrokerId(m.broker),
                m.source,
                m.target,
                m.bytes,
            )
            for m in form.log_moves
        ),
        creates=form.creates,
        recoveries=tuple(_read_recovery(row) for row in form.recoveries),
        moves=tuple(_move(row, topics[row.topic], form.reasons[row.reason]) for row in form.moves),
        throttle=None
        if throttle is None
        else MoveThrottle(
            throttle.bytes_per_second,
            {
                BrokerId(int(b)): SideRates(rate.leader, rate.follower)
                if isinstance(rate, SideForm)
                else rate
                for b, rate in throttle.brokers.items()
            },
            throttle.keep,
        ),
        judged_by=None
        if form.convergence is None
        else JudgedBy(form.convergence.rates, form.convergence.unknown),
        allowed=form.allowed,
        refusals=tuple(
            Refusal(TopicPartition(r.topic, r.partition), r.rule, cast("Facts", r.facts))
            for r in form.refusals
        ),
        conflicts=form.conflicts,
        warnings=tuple(PlanWarning(w.kind, cast("Facts", w.facts)) for w in form.warnings),
        remember=frozenset(
            TopicPartition(row.topic, row.partition) for row in form.moves if row.remember
        ),
    )


def _row(move: Move, reason: int, plan: Plan) -> MoveForm:
    return MoveForm(
        *move.partition,
        original=move.original,
        target=move.target,
        leader=move.leader,
        bytes=move.bytes,
        reason=reason,
        elect=move.elect,
        unnameable=tuple(sorted(move.unnameable)),
        below_min_isr=move.below_min_isr,
        remember=move.partition in plan.remember,
        election=move.election,
    )


def _recovery(found: Recovery) -> RecoveryForm:
    return RecoveryForm(
        topic=found.partition.topic,
        partition=found.partition.partition,
        topic_id=found.topic_id,
        original=found.original,
        order=found.order,
        method=found.method,
        clean=found.clean,
        reassigned=found.reassigned,
        leader_epoch=found.leader_epoch,
        wait_seconds=found.wait_seconds,
        bytes=found.bytes,
        loss=LossForm(
            found.loss.records,
            found.loss.tails,
            found.loss.unknown,
        ),
        candidates=tuple(candidate_form(c) for c in found.candidates),
    )


def _read_recovery(form: RecoveryForm) -> Recovery:
    return Recovery(
        partition=TopicPartition(form.topic, form.partition),
        topic_id=form.topic_id,
        original=form.original,
        order=form.order,
        method=form.method,
        clean=form.clean,
        reassigned=form.reassigned,
        candidates=tuple(read_candidate(c) for c in form.candidates),
        loss=Loss(form.loss.tails, form.loss.unknown),
        leader_epoch=form.leader_epoch,
        wait_seconds=form.wait_seconds,
        bytes=form.bytes,
    )


def _throttle(throttle: MoveThrottle | None) -> ThrottleForm | None:
    if throttle is None:
        return None
    brokers = {
        str(b): SideForm(rate.leader, rate.follower) if isinstance(rate, SideRates) else rate
        for b, rate in sorted(throttle.brokers.items())
    }
    return ThrottleForm(throttle.rate, brokers, throttle.keep)


def _move(row: MoveForm, topic: TopicForm, reason: MoveReason) -> Move:
    return Move(
        partition=TopicPartition(row.topic, row.partition),
        topic_id=topic.id,
        original=row.original,
        target=row.target,
        min_insync_replicas=topic.min_insync_replicas,
        unclean_election=topic.unclean_leader_election,
        reason=reason,
        bytes=row.bytes,
        elect=row.elect,
        unnameable=frozenset(row.unnameable),
        below_min_isr=row.below_min_isr,
        leader=row.leader,
        election=row.election,
    )
