"""`scenario run`: run stories again, and show where the output differs from what is written."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.frame.output import note, result, save
from replan.errors import BadScenario, Exit
from replan.wording import count


def run(
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")],
    rewrite: Annotated[
        bool,
        typer.Option("--rewrite", help="Write the new output into the files; review the diff."),
    ] = False,
) -> Exit:
    """Run scenario files, and compare the output with what they say.

    Exit codes:
      0  all output is as written
      1  some output differs, shown as a diff; or a file is not a scenario

    Examples:
      replan scenario run tests/scenarios/*.txt
      replan scenario run broker-dies.txt --rewrite
    """
    from replan.scenarios.run import rewritten, run_scenario

    wrong = differing = 0
    for path in files:
        try:
            outcome = run_scenario(_text(path), str(path))
        except BadScenario as problem:
            wrong += 1
            note(f"replan: {problem}")
            continue
        if outcome.passed:
            continue
        differing += 1
        if rewrite:
            save(rewritten(outcome), path)
            note(f"{path}: the new output of {count(len(outcome.differing), 'command')} is written")
        else:
            result(outcome.difference())
    same = len(files) - differing - wrong
    changed = f", {differing} rewritten: review the diff" if rewrite and differing else ""
    note(f"{same} of {len(files)} {'as they were' if changed else 'passed'}{changed}")
    return Exit.ERROR if wrong or (differing and not rewrite) else Exit.OK


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise BadScenario(f"{path}: cannot read it: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise BadScenario(f"{path}: not text in UTF-8") from problem
