"""Rehearsed weeks of a loop as a document, whatever its form, and as JSON."""

from collections.abc import Iterator, Sequence

import msgspec

from replan.model.declared.reconcile import DeviationKind
from replan.rehearsal.loop_outcome import HeldTotal, KindTotal, LoopOutcome, LoopRehearsal
from replan.rehearsal.report.json import assumed, json_value
from replan.rehearsal.report.pictures import weeks_chart
from replan.rehearsal.report.sentences import assumptions, injected
from replan.rehearsal.watched import Missed
from replan.reporting.blocks import Block, Column, Heading, Item, Items, OnPage, Table, Title
from replan.reporting.json_report import json_report
from replan.reporting.lines import Span, Tone, line
from replan.reporting.loop.loop_words import (
    DEVIATION_WORDS,
    LOOP_REASON_WORDS,
    LOOP_STATE_WORDS,
    ROUND_RESULT_WORDS,
)
from replan.wording import DAY_SECONDS, count, duration, listed, size

LOOP_KIND = "replan.reconcileRehearsal"
HOUR_SECONDS = 3_600.0
ROUNDS_SHOWN = 50
FAULTS_SHOWN = 50
DOING_NOTHING = "\N{EN DASH} doing nothing"
"""The row below that of the loop."""


def loop_rehearsal_report(rehearsal: LoopRehearsal) -> Iterator[Block]:
    """The whole document."""
    acting, idle = rehearsal.acting, rehearsal.idle
    yield Title("replan rehearse --reconcile", rehearsal.cluster_name or rehearsal.cluster_id)
    yield line(Span(_verdict(rehearsal), Tone.GOES if rehearsal.exit_code else Tone.COMES))
    yield line(_lack(acting.lack, idle.lack))
    yield Heading("What differed, for how long, and what became of it")
    yield _kinds(acting, idle)
    yield OnPage(list(weeks_chart(rehearsal)))
    if acting.held:
        yield Heading("When nothing was done, or nothing more begun")
        yield _held(acting.held)
    if acting.rounds:
        yield Heading("Rounds", len(acting.rounds))
        yield _rounds(acting)
    if rehearsal.faults:
        yield Heading("Faults, people and releases", len(rehearsal.faults))
        yield _faults(rehearsal)
    if acting.reasons or acting.refused:
        yield Heading("At the end")
        rules = [f"refused [{rule}]" for rule in acting.refused]
        yield Items([Item(line(text)) for text in (*map(str, acting.reasons), *rules)])
    yield line(assumptions(rehearsal.options))
    drawn = "" if rehearsal.seed is None else f", faults of seed {rehearsal.seed}"
    yield line(
        f"Placement {rehearsal.placement_digest[:16]}, cluster {rehearsal.cluster_id}, a round every "
        f"{duration(rehearsal.every_seconds)}{drawn}."
    )


def _verdict(rehearsal: LoopRehearsal) -> str:
    acting = rehearsal.acting
    right = f"{acting.by_rounds:,} of {count(acting.found, 'deviation')} put right"
    done = f"{right} in {count(len(acting.rounds), 'round')}, {size(acting.copied_bytes)} copied"
    if not rehearsal.policy.put_right:
        done = f"policy puts nothing right; {count(acting.found, 'deviation')} seen"
    if not acting.found:
        done = "nothing differed"
    return f"{duration(acting.seconds)}: {done}; {LOOP_STATE_WORDS[acting.state][0]} at the end."


def _lack(acting: Missed, idle: Missed) -> str:
    """What all partitions went without."""
    rows = (
        ("under-replicated", acting.under_replicated, idle.under_replicated),
        ("under min ISR", acting.under_min_isr, idle.under_min_isr),
        ("without a leader", acting.without_leader, idle.without_leader),
    )
    said = [f"{name} {_hours(one)} ({_hours(other)})" for name, one, other in rows]
    return f"Partition-hours, beside doing nothing: {', '.join(said)}."


def _hours(seconds: float) -> str:
    return f"{seconds / HOUR_SECONDS:,.1f}".removesuffix(".0")


def _kinds(acting: LoopOutcome, idle: LoopOutcome) -> Table:
    without = {total.kind: total for total in idle.kinds}
    mine = {total.kind: total for total in acting.kinds}
    rows = [
        row
        for kind in (*DeviationKind, None)
        if kind in mine or kind in without
        for row in (
            (
                DEVIATION_WORDS[kind],
                *_cells(mine.get(kind), f"{mine[kind].by_rounds:,}" if kind in mine else ""),
            ),
            (DOING_NOTHING, *_cells(without.get(kind), "")),
        )
    ]
    heads = "what happened", "how many", "put right", "left", "median", "longest"
    columns = [Column(head, right=at > 0) for at, head in enumerate(heads)]
    return Table(columns, rows or [("nothing", *("",) * (len(heads) - 1))])


def _cells(of: KindTotal | None, right: str) -> tuple[str, ...]:
    if of is None:
        return "0", "", "", "", ""
    return (
        f"{of.found:,}",
        right,
        f"{of.left:,}",
        duration(of.median_seconds),
        duration(of.longest_seconds),
    )


def _held(held: Sequence[HeldTotal]) -> Table:
    rows = [
        (
            LOOP_REASON_WORDS[type(total.reason)],
            f"{total.times:,}",
            duration(total.seconds),
            duration(total.longest_seconds),
            str(total.reason),
        )
        for total in held
    ]
    heads = ("why", "times", "in all", "longest", "the longest")
    columns = [Column(head, right=0 < at < 4, prose=at == 4) for at, head in enumerate(heads)]
    return Table(columns, rows)


def _rounds(acting: LoopOutcome) -> Table:
    rows = [
        (
            f"{done.number:,}",
            time_since_start(done.began_at - acting.began_at),
            duration(max(0.0, done.ended_at - done.began_at)),
            ROUND_RESULT_WORDS[done.result],
            f"{done.moves:,}",
            size(done.bytes),
            listed(DEVIATION_WORDS[kind] for kind in done.kinds),
        )
        for done in acting.rounds
    ]
    heads = ("round", "began", "took", "ended", "moves", "copied", "put right")
    right = {0, 1, 2, 4, 5}
    columns = [Column(head, right=at in right, prose=at == 6) for at, head in enumerate(heads)]
    return Table(columns, rows, noun="round", limit=ROUNDS_SHOWN)


def _faults(rehearsal: LoopRehearsal) -> Table:
    rows = [
        (time_since_start(fault.at_seconds), injected(fault, rehearsal.acting.seconds))
        for fault in rehearsal.faults
    ]
    columns = [Column("at", right=True), Column("what", prose=True, code=True)]
    return Table(columns, rows, noun="fault", limit=FAULTS_SHOWN)


def time_since_start(seconds: float) -> str:
    """`3 d 04:12` after the beginning."""
    days, rest = divmod(round(seconds), int(DAY_SECONDS))
    return f"{days} d {rest // 3600:02}:{rest % 3600 // 60:02}"


def render_loop_rehearsal_json(rehearsal: LoopRehearsal) -> str:
    """One document, times in seconds from the beginning; ends with a newline."""
    fields: dict[str, object] = {
        "clusterId": rehearsal.cluster_id,
        "placementDigest": rehearsal.placement_digest,
        "putRight": {kind.value: after for kind, after in rehearsal.policy.put_right.items()},
        "assumed": {**assumed(rehearsal.options), "everySeconds": rehearsal.every_seconds},
        "seed": rehearsal.seed,
        "exitCode": rehearsal.exit_code,
        "faults": json_value(rehearsal.faults),
        "acting": _weeks(rehearsal.acting),
        "doingNothing": _weeks(rehearsal.idle),
    }
    return json_report(LOOP_KIND, fields, ensure_ascii=False, indent=1)


def _weeks(outcome: LoopOutcome) -> dict[str, object]:
    return {
        "seconds": outcome.seconds,
        "state": outcome.state.value,
        "reasons": msgspec.to_builtins(outcome.reasons),
        "refused": list(outcome.refused),
        "kinds": json_value(outcome.kinds),
        "held": [
            {
                "why": held.why,
                "times": held.times,
                "seconds": held.seconds,
                "longestSeconds": held.longest_seconds,
                "reason": msgspec.to_builtins(held.reason),
            }
            for held in outcome.held
        ],
        "states": {state.value: seconds for state, seconds in outcome.states.items()},
        "rounds": [
            {
                **msgspec.to_builtins(done),
                "beganAt": done.began_at - outcome.began_at,
                "endedAt": done.ended_at - outcome.began_at,
            }
            for done in outcome.rounds
        ],
        "copiedBytes": outcome.copied_bytes,
        "partitionSeconds": json_value(outcome.lack),
    }
