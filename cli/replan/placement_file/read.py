"""Read a placement file: files and folders of YAML into checked declarations.

It reads every file, and gathers all that is wrong in them and between them. What a cluster says about it is planning's
part; `load` makes a placement of it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from replan.errors import BadPlacement
from replan.model.garbage_collection import garbage_collection_paused
from replan.placement_file.merge import Merged, explicit_topics, merge, note_contradictions
from replan.placement_file.requirements import note_lists_together, note_unmet_requirements
from replan.placement_file.schema.schema_check import accepts
from replan.placement_file.schema.schemas import PLACEMENT, Schema, read_schema
from replan.placement_file.sections.assignments import check_rows
from replan.placement_file.sections.rule_entries import read_rules
from replan.placement_file.sections.sections import Declaration, read_small_sections
from replan.placement_file.sections.topic_entries import read_assignments, read_preferred_leaders
from replan.placement_file.yaml_text.events import EventParser, fastest_parser, read_document
from replan.placement_file.yaml_text.sources import Problems, Source, find_files, read_source
from replan.placement_file.yaml_text.values import YamlMapping


def read_files(paths: Sequence[Path]) -> Merged:
    """Read and merge these files and folders; raises BadPlacement with everything that is wrong."""
    return read_sources(_texts(paths), fastest_parser())


def read_cluster(path: Path) -> tuple[str | None, str | None]:
    """The id and the name of the cluster of a file or folder, of which nothing else is checked.

    Raises BadPlacement where it is no YAML.
    """
    problems = Problems()
    said: dict[str, object] = {}
    with garbage_collection_paused():
        for source in _texts([path]):
            root = read_document(source, problems, fastest_parser())
            cluster = None if root is None else root.get("cluster")
            said |= cluster if isinstance(cluster, YamlMapping) else {}
    problems.raise_if_any()
    known = {key: value for key, value in said.items() if isinstance(value, str)}
    return known.get("id"), known.get("name")


def _texts(paths: Sequence[Path]) -> list[Source]:
    sources: list[Source] = []
    unreadable: list[str] = []
    for path in find_files(paths):
        try:
            sources.append(read_source(path))
        except BadPlacement as problem:
            unreadable.append(str(problem))
    if unreadable:
        raise BadPlacement("\n".join(unreadable))
    return sources


def read_sources(sources: Sequence[Source], parser_of: Callable[[str], EventParser]) -> Merged:
    """Read texts that are already read; raises BadPlacement with everything that is wrong."""
    problems = Problems()
    schema = read_schema(PLACEMENT)
    with garbage_collection_paused():
        declarations: list[Declaration] = []
        for source in sources:
            root = read_document(source, problems, parser_of)
            if root is not None:
                declarations += _read_file(source, root, schema, problems)
        merged = merge(declarations, problems)
        check_rows(explicit_topics(merged), problems)
        note_contradictions(merged, problems)
        note_unmet_requirements(merged, problems)
        note_lists_together(merged, problems)
        problems.raise_if_any()
        return merged


def _read_file(
    source: Source, root: YamlMapping, schema: Schema, problems: Problems
) -> list[Declaration]:
    declarations: list[Declaration] = []
    for_schema: dict[str, object] = dict(root)
    for section, read in (
        ("assignments", read_assignments),
        ("preferredLeaders", read_preferred_leaders),
    ):
        entries = root.get(section)
        if isinstance(entries, YamlMapping):
            found, for_schema[section] = read(source, entries, problems)
            declarations += found
    if not accepts(schema, for_schema, schema):
        # It imports jsonschema, which takes as long as to read a small placement file.
        from replan.placement_file.schema.schema_messages import note_schema_problems  # noqa: PLC0415

        note_schema_problems(for_schema, root, source, schema, problems)
    unsound = problems.sections(source.name)
    declarations += read_rules(source, root, unsound)
    declarations += read_small_sections(source, root, unsound)
    return declarations
