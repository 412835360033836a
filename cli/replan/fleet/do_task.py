"""One cluster's work: the stages that are asked for, one after the other, into rows by table; trouble is a row, too.

This is what runs in each engine: called in a loop, in a process of its own, or by Spark (`on_spark`).
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from importlib import import_module
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.errors import ReplanError, unexpected
from replan.fleet.lake.delta import Lake, TableFile, begin_run
from replan.fleet.lake.files import RowFile, merged_file, put_aside, put_rows
from replan.fleet.lake.tables import (
    COSTS,
    DECLARED,
    DIFFERENCES,
    DRIFT,
    ERRORS,
    JUDGED,
    PLANS,
    RATES,
    SUMS,
    TABLES,
)
from replan.fleet.tasks.work import Task, Work
from replan.model.columns import with_column
from replan.planning.by_topic import ClusterPart


class Stage(StrEnum):
    """What can be done for a cluster, in the order in which it is done."""

    RATES = "rates"
    DIFF = "diff"
    CLASSIFY = "classify"
    COST = "cost"
    PLAN = "plan"


DRIFT_STAGES = (Stage.DIFF, Stage.CLASSIFY)
"""What `fleet drift` does."""
WRITES: Mapping[Stage, Sequence[str]] = {
    Stage.RATES: (RATES.name, SUMS.name),
    Stage.DIFF: (DECLARED.name, DIFFERENCES.name),
    Stage.CLASSIFY: (DRIFT.name, JUDGED.name),
    Stage.COST: (COSTS.name,),
    Stage.PLAN: (PLANS.name,),
}
"""The tables of each stage."""
BY_INPUTS = tuple(stage for stage in Stage if stage is not Stage.RATES)
"""What goes by the placement, too, by owners and prices; rates go by snapshots alone."""
CLUSTER_TRIES = 2
"""So often a cluster is begun whose worker process, Python worker or executor is lost."""
RATES_AT_ONCE = 250_000
"""Partitions of which one task finds the rates at most, about."""
COMPARING = (*DRIFT_STAGES, Stage.COST)
"""What the history needs; a topic is judged by what is declared of it, where nothing is to be chosen."""
COMPARED_AT_ONCE = 500_000
"""Partitions that one task compares at most, about."""
SPARK_DOCS = '`replan docs fleet`, "Where Spark runs"'
Rows = Mapping[str, pa.Table]
"""Rows by the table's name."""


class TaskDone(Struct, frozen=True):
    """What was done for a task: its rows are in files that nobody has committed yet."""

    task: Task
    files: tuple[RowFile, ...]
    errors: Sequence[Mapping[str, Any]]
    """Rows of `errors`."""
    parts: tuple[Task, ...] = ()
    """Those in which a giant cluster is to be compared, which was not done."""
    attempt: int = 0
    """How often it was begun before, which may have left files."""


def written_by(stages: Iterable[Stage]) -> list[str]:
    """The tables that these stages write, the errors last."""
    return [*(name for stage in stages for name in WRITES[stage]), ERRORS.name]


def stage_of_table(table: str) -> Stage:
    """The stage that finds the rows of a table."""
    return next(stage for stage, names in WRITES.items() if table in names)


def in_parts(task: Task, stages: Sequence[Stage]) -> list[Task]:
    """A task as those that are done apart: of a large cluster the rates, some topics each; all else needs it whole."""
    count = task.partitions // RATES_AT_ONCE
    if count < 2 or Stage.RATES not in stages:
        return [task]
    others = [replace(task, shares=count)] if len(stages) > 1 else []
    rates = (replace(task, shares=count, share=n, small=None) for n in range(1, count + 1))
    return [*others, *rates]


def stages_of(task: Task, stages: Sequence[Stage]) -> list[Stage]:
    """Those of these stages that are part of a task."""
    if task.part is not None:
        return [stage for stage in stages if stage in COMPARING]
    if not task.shares:
        return list(stages)
    return [stage for stage in stages if (stage is Stage.RATES) == (task.share > 0)]


def rows_of_stages(work: Work, stages: Sequence[Stage]) -> Rows:
    """The rows of all stages; one that fails leaves its own rows out, and says why in `errors`."""
    tables: dict[str, pa.Table] = {}
    errors: list[tuple[str, str]] = []
    for stage in stages:
        rows = or_message(stage, work)
        if not isinstance(rows, str):
            tables |= {name: rows[name] for name in WRITES[stage]}
            if stage is Stage.RATES:
                work.found_rates = rows[RATES.name]
        else:
            errors.append((stage.value, rows))
    if errors and JUDGED.name in tables:
        tables[JUDGED.name] = without_inputs(tables[JUDGED.name])
    return {**tables, ERRORS.name: _error_rows(work, errors)}


def without_inputs(judged: pa.Table) -> pa.Table:
    """Rows of `judged` that do not say by what, so that it is judged again."""
    return with_column(judged, "inputs", pa.nulls(judged.num_rows, pa.string()))


def do_task(task: Task, stages: Sequence[Stage], lake: Lake, run: str) -> TaskDone:
    """Do a task, and put what it finds into the stores of the lake's tables; raises BadFile."""
    begin_run(run)
    work, mine = Work(task), stages_of(task, stages)
    parts = [
        replace(task, part=put_aside(lake, part.table(), run), inputs=work.inputs, small=None)
        for part in _parts(work, mine)
    ]
    tables = rows_of_stages(work, [stage for stage in mine if not (parts and stage in COMPARING)])
    files = [
        put_rows(lake, TABLES[name], rows, task.hour, run)
        for name, rows in tables.items()
        if name != ERRORS.name and rows.num_rows
    ]
    for name, (day, paths) in json.loads(task.small or "{}").items():
        small = [TableFile(path, task.cluster, date.fromisoformat(day)) for path in paths]
        files += merged_file(lake, TABLES[name], small, run)
    return TaskDone(task, tuple(files), tables[ERRORS.name].to_pylist(), tuple(parts))


def _parts(work: Work, stages: Sequence[Stage]) -> Sequence[ClusterPart]:
    """The parts in which a giant cluster is to be compared; none where it is planned, too, which takes it whole."""
    count = work.task.partitions // COMPARED_AT_ONCE
    if count < 2 or work.part or Stage.PLAN in stages or set(COMPARING).isdisjoint(stages):
        return ()
    try:
        return list(work.parts(count))
    except Exception:  # noqa: BLE001 - whoever compares it whole says what is wrong
        return ()


def not_done(task: Task, stages: Sequence[Stage], why: str) -> TaskDone:
    """A task that nobody could do: each stage says so."""
    said = [(stage.value, why) for stage in stages_of(task, stages)]
    return TaskDone(task, (), _error_rows(Work(task), said).to_pylist())


def _error_rows(work: Work, errors: Sequence[tuple[str, str]]) -> pa.Table:
    """What could not be done, of the lake where a message names that, else of the placement, as it is named."""
    task = work.task
    named = task.named or task.placement

    def file(text: str) -> str:
        places = (p for p in (task.placement, named, task.lake) if p in text)
        longest = max(places, key=len, default=named)  # a short name is in many texts by chance
        return task.lake if longest == task.lake else named

    columns = {
        "stage": [stage for stage, _ in errors],
        "file": [file(text) for _, text in errors],
        "message": [text.replace(task.placement, named) for _, text in errors],
    }
    return work.rows(ERRORS, columns)


def or_message(stage: Stage, work: Work) -> Rows | str:
    """What a stage finds, or why it cannot: one cluster's trouble never ends the run for the others."""
    try:
        return stage_function(stage)(work)
    except ReplanError as problem:
        return str(problem)
    except ModuleNotFoundError as problem:
        return (
            f"Python at {sys.executable} has no {problem.name}, which this stage needs; install there "
            f"what replan depends on ({SPARK_DOCS})"
        )
    except Exception as problem:  # noqa: BLE001 - a mistake of this program is one row, too
        return unexpected(problem)


def stage_function(stage: Stage) -> Callable[[Work], Rows]:
    """What does a stage: the function of its name, in the module of its name, which is imported when it is needed."""
    function: Callable[[Work], Rows] = getattr(import_module(f"replan.fleet.stages.{stage}"), stage)
    return function


def sorted_table(name: str, tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of one kind as one, its rows sorted by what names them."""
    schema = TABLES[name].schema
    whole = pa.concat_tables([schema.empty_table(), *tables])
    keys = ("cluster", "day", "hour", "topic", "partition", "broker", "kind", "rule", "stage")
    order = [(key, "ascending") for key in keys if key in schema.names]
    return whole.sort_by(order).combine_chunks() if whole.num_rows else whole
