"""Plans as the commands handle them: read from a file, written in a form, turned into an exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from replan.errors import BadFile, Exit
from replan.planning import plan_file
from replan.planning.plan import Plan
from replan.reporting.plan_markdown import render_plan_markdown
from replan.reporting.plan_text import render_plan

PlanForm = Literal["text", "markdown", "json"]


def read_plan(path: Path) -> Plan:
    """A saved plan; raises BadFile."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise BadFile(f"{path}: cannot read the plan: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise BadFile(f"{path}: not a plan: not text; make one with `replan plan -o`") from problem
    return plan_file.loads(text, str(path))


def verdict(made: Plan) -> Exit:
    """The exit code of a plan: a refusal outweighs a hold, a hold outweighs changes."""
    if any(not r.held for r in made.refusals):
        return Exit.REFUSED
    if made.refusals:
        return Exit.HELD
    return Exit.CHANGES if made.moves else Exit.OK


def render(
    made: Plan, form: PlanForm, *, everything: bool = False, rehearsed: Sequence[str] = ()
) -> str:
    """A plan in one of its forms; json is the plan file itself."""
    match form:
        case "text":
            return render_plan(made, everything=everything, rehearsed=rehearsed)
        case "markdown":
            return render_plan_markdown(made, rehearsed=rehearsed)
        case "json":
            return plan_file.dumps(made)
