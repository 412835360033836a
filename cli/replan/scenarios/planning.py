"""`manifest`, `plan`, `drift`: what is declared, what would be done, what stands otherwise."""

from collections.abc import Sequence
from pathlib import PurePath

from replan.errors import BadScenario
from replan.faults.token_reader import Words
from replan.manifest.events import fastest_parser
from replan.manifest.load import load_sources
from replan.manifest.sources import Source
from replan.model.placement import Placement
from replan.planning.drift import find_drift
from replan.planning.plan import Plan
from replan.planning.planner import make_plan
from replan.reporting.drift_text import render_drift
from replan.reporting.plan_text import render_plan
from replan.scenarios.session import Story

VERSION = "version: 1"


def manifest(story: Story, words: Words, body: Sequence[str]) -> str:
    """`manifest` with YAML below it; `version: 1` need not be written. A plan that was made before is forgotten."""
    words.end()
    if not body:
        raise words.wrong("a manifest has its YAML in the lines below it, indented")
    story.placement = load_sources([_source(words.where, body)], fastest_parser())
    story.plan = None
    return ""


def _source(where: str, body: Sequence[str]) -> Source:
    """The body at its own lines of the file, so that what is wrong with it is told where it stands.

    Without folders: a story is the same wherever it is told from.
    """
    path, _, line = where.rpartition(":")
    indent = body[0][: len(body[0]) - len(body[0].lstrip())]
    versioned = any(text.strip().startswith("version:") for text in body)
    above = [""] * (int(line) - 1) + ["" if versioned else indent + VERSION]
    return Source(PurePath(path).name, "\n".join([*above, *body]) + "\n")


def plan(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`plan`: make a plan, and keep it for `apply`."""
    words.end()
    return render_plan(planned(story))


def planned(story: Story) -> Plan:
    """Make a plan of what is declared, and keep it."""
    made = make_plan(_placement(story), story.observe())
    story.keep(made)
    return made


def drift(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`drift`: what stands otherwise than declared."""
    words.end()
    return render_drift(find_drift(_placement(story), story.observe()))


def _placement(story: Story) -> Placement:
    if story.placement is None:
        raise BadScenario("nothing is declared yet; write a `manifest` first")
    return story.placement
