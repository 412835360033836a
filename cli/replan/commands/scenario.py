"""`scenario run`: tell stories again, and say where they end otherwise than written."""

from collections.abc import Sequence
from pathlib import Path

from replan.commands.output import note, result, save
from replan.errors import BadScenario, Exit
from replan.scenarios.run import rewritten, run_story
from replan.wording import count


def run(files: Sequence[Path], *, rewrite: bool) -> Exit:
    """Run every file. 0 where all is as written, 1 where something differs; `rewrite` writes what is told now."""
    wrong = differing = 0
    for path in files:
        try:
            told = run_story(_text(path), str(path))
        except BadScenario as problem:
            wrong += 1
            note(f"replan: {problem}")
            continue
        if told.as_written:
            continue
        differing += 1
        if rewrite:
            save(rewritten(told), path)
            note(f"{path}: output differs for {count(len(told.differing), 'command')}; written")
        else:
            result(told.difference())
    note(f"{len(files) - differing - wrong} of {len(files)} as written")
    return Exit.ERROR if wrong or (differing and not rewrite) else Exit.OK


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise BadScenario(f"{path}: cannot read it: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise BadScenario(f"{path}: not text in UTF-8") from problem
