"""Two lines about a plan, for `plan` itself: how long, how loaded, how close to min ISR. Quick: coarser for large ones.

The same plan and snapshot give the same lines: what bounds the work is counted in moves and looks, never in time.
"""

from collections.abc import Mapping

import pyarrow as pa
from msgspec.structs import replace

from replan.model.columns import take
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot, partitions_table, topic_codes
from replan.planning.plans.plan import Plan
from replan.rehearsal.coarse import coarse_rehearsal
from replan.rehearsal.options import Options
from replan.rehearsal.report.sentences import coarse_lines, summary_lines
from replan.rehearsal.result import Rehearsal
from replan.rehearsal.run import rehearse_plan
from replan.wording import rate

MOVES = 200
PARTITIONS = 5_000
"""Of the topics that are touched, new ones included."""
MOST_LOOKS = 1_000
"""At the simulated cluster, of some milliseconds each where all the moves run."""
HOW = "`replan rehearse` rehearses all of it"


NOTHING_WRITTEN: Mapping[TopicPartition, int] = {}


def quick_rehearsal(
    plan: Plan, snapshot: Snapshot, written: Mapping[TopicPartition, int] = NOTHING_WRITTEN
) -> tuple[tuple[str, ...], Rehearsal | None]:
    """The lines, and the rehearsal that they are about, where there was one to its end; no lines where nothing moves.

    `written` is what producers write, in bytes per second.
    """
    if not plan.moves:
        return (), None
    options = Options(limit_looks=MOST_LOOKS, rates=written)
    names = plan.topics
    if len(plan.moves) > MOVES:
        return _coarsely(plan, snapshot, options, f"it has more than {MOVES:,} moves"), None
    there = sum(len(snapshot.topic_rows(name)) for name in names)
    if there + sum(len(create.lists) for create in plan.creates) > PARTITIONS:
        why = f"its topics have more than {PARTITIONS:,} partitions"
        return _coarsely(plan, snapshot, options, why), None
    try:
        rehearsal = rehearse_plan(plan, touched_topics(plan, snapshot), options)
    except ValueError as problem:
        return (f"Not rehearsed: {problem}.",), None
    if rehearsal.given_up:
        return _coarsely(plan, snapshot, options, "a rehearsal of it takes very long"), None
    return summary_lines(rehearsal, _assumed(options)), rehearsal


def _coarsely(plan: Plan, snapshot: Snapshot, options: Options, why: str) -> tuple[str, ...]:
    return coarse_lines(
        coarse_rehearsal(plan, snapshot, options), _assumed(options), f"{why}; {HOW}"
    )


def _assumed(options: Options) -> str:
    produced = "the produce rates given" if options.rates else "nothing produced"
    return (
        f"network {rate(round(options.speeds().network_bytes_per_second))} per broker, {produced}"
    )


def touched_topics(plan: Plan, snapshot: Snapshot) -> Snapshot:
    """The snapshot with nothing but the topics that the plan touches; the other partitions play no part."""
    topic_rows = {name: snapshot.topic_row(name) for name in sorted(plan.topics)}
    topics = {name: row for name, row in topic_rows.items() if row is not None}
    rows = [row for name in topics for row in snapshot.topic_rows(name)]
    names, chosen = list(topics), list(topics.values())
    table = take(snapshot.partitions, rows)
    before = topic_codes(table)
    codes = {code: at for at, code in enumerate(chosen)}
    return replace(
        snapshot,
        topics=take(snapshot.topics, chosen),
        partitions=partitions_table(
            pa.array(names, pa.string()),
            [codes[int(code)] for code in before],
            {name: table.column(name).combine_chunks() for name in table.column_names[1:]},
        ),
        remembered={},
    )
