"""`plan` and `drift`: compare the placement with a cluster; read only."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from replan.commands.cluster import observe
from replan.commands.journals import read_ledger, told
from replan.commands.output import Format, note, result, save
from replan.commands.target import Target
from replan.errors import BadFile, Exit
from replan.manifest.load import load_placement
from replan.model.snapshot import Snapshot
from replan.planning import plan_file
from replan.planning.drift import find_drift
from replan.planning.plan import Plan
from replan.planning.planner import make_plan
from replan.reporting.drift_text import render_drift, render_drift_json, render_drift_markdown
from replan.reporting.plan_markdown import render_plan_markdown
from replan.reporting.plan_text import render_plan


def plan(
    chosen: Target, files: Sequence[Path], output: Path | None, how: Format, journal: Path | None
) -> Exit:
    """Plan, show it, and save it where -o says. 0 nothing to do, 2 changes, 3 or 4 refused."""
    seen = _look(chosen, journal)
    made = make_plan(load_placement(files), seen)
    result(render(made, how, rehearsed=_rehearsed(made, seen, how)))
    if output is not None:
        save(plan_file.dumps(made), output)
        if made.moves:
            note(f"saved; perform it with: replan apply {output}")
    return verdict(made)


def _rehearsed(made: Plan, seen: Snapshot, how: Format) -> Sequence[str]:
    """What a quick rehearsal tells of the plan; the plan file does not depend on it."""
    if how is Format.JSON or not made.moves:
        return ()
    from replan.rehearsal.essence import essence_of

    return essence_of(made, seen)


def _look(chosen: Target, journal: Path | None) -> Snapshot:
    """The cluster with the orders that the journal remembers; tells what is open there."""
    seen = observe(chosen)
    if chosen.snapshot is not None:
        return seen
    ledger = read_ledger(chosen, journal, seen.cluster_id)
    for line in told(ledger):
        note(f"note: {line}")
    return replace(seen, remembered={**seen.remembered, **ledger.remembered()})


def verdict(made: Plan) -> Exit:
    """The exit code of a plan: a refusal outweighs a hold, a hold outweighs changes."""
    if any(not r.held for r in made.refusals):
        return Exit.REFUSED
    if made.refusals:
        return Exit.HELD
    return Exit.CHANGES if made.moves else Exit.OK


def render(
    made: Plan, how: Format, *, everything: bool = False, rehearsed: Sequence[str] = ()
) -> str:
    """A plan in one of its forms; json is the plan file itself."""
    match how:
        case Format.TEXT:
            return render_plan(made, everything=everything, rehearsed=rehearsed)
        case Format.MARKDOWN:
            return render_plan_markdown(made, rehearsed=rehearsed)
        case Format.JSON:
            return plan_file.dumps(made)


def read_plan(path: Path) -> Plan:
    """A saved plan; raises BadFile."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise BadFile(f"{path}: cannot read the plan: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise BadFile(f"{path}: not a plan: not text; make one with `replan plan -o`") from problem
    return plan_file.loads(text, str(path))


def drift(
    chosen: Target, files: Sequence[Path], how: Format, journal: Path | None, *, everything: bool
) -> Exit:
    """Tell what stands otherwise than declared. 0 none, 2 drift."""
    found = find_drift(load_placement(files), _look(chosen, journal))
    match how:
        case Format.TEXT:
            result(render_drift(found, everything=everything))
        case Format.MARKDOWN:
            result(render_drift_markdown(found))
        case Format.JSON:
            result(render_drift_json(found))
    return Exit.OK if found.none else Exit.CHANGES
