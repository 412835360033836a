"""Load a placement file: files and folders of YAML into one placement. This is the way in."""

from collections.abc import Callable, Sequence
from pathlib import Path

from replan.model.declared.placement import Placement
from replan.placement_file.digest import with_digest
from replan.placement_file.placement_of import placement_of
from replan.placement_file.read import read_files, read_sources
from replan.placement_file.yaml_text.events import EventParser
from replan.placement_file.yaml_text.sources import Source


def load_placement(paths: Sequence[Path]) -> Placement:
    """Load and merge these files and folders; raises BadPlacement with everything that is wrong."""
    return with_digest(placement_of(read_files(paths)))


def load_sources(sources: Sequence[Source], parser_of: Callable[[str], EventParser]) -> Placement:
    """Load texts that are already read; raises BadPlacement with everything that is wrong."""
    return with_digest(placement_of(read_sources(sources, parser_of)))
