"""Replica lists of a placement file replaced by others, with the rest of the text as it is, and the patch that says so.

The text is edited at the places that YAML's own parser gives, number by number where a list keeps its length, so that
comments stay. It is read again: where anything but these lists differs afterwards, there is no patch.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from replan.errors import BadPlacement, BadUsage
from replan.model.declared.placement import Placement
from replan.model.names import TopicPartition
from replan.placement_file.blacklist_edit import Edit
from replan.placement_file.digest import digest_of
from replan.placement_file.load import load_sources
from replan.placement_file.yaml_text.events import fastest_parser
from replan.placement_file.yaml_text.sources import Source, find_files, read_source

Lists = Mapping[str, Mapping[int, Sequence[int]]]
"""By topic and partition."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
ASSIGNMENTS, PARTITIONS = "assignments", "partitions"
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, some ten times faster, where it is there."""


def patch_of(paths: Sequence[Path], placement: Placement, lists: Lists, root: Path) -> str:
    """The unified diff, for `git apply` in `root`, that lets these files declare these lists; empty where they do.

    Raises BadUsage where the files are no longer those of the placement, or cannot be edited without changing more.
    """
    before = [read_source(path) for path in find_files(paths)]
    if load_sources(before, fastest_parser()).digest != placement.digest:
        raise BadUsage("the placement was changed meanwhile; the next round proposes again")
    after = [_edited(source, lists) for source in before]
    _check(after, placement, lists)
    return "".join(_diff(b, a, root) for b, a in zip(before, after, strict=True))


def _edited(source: Source, lists: Lists) -> Source:
    edits = sorted(_edits(source, lists), key=lambda edit: edit.start, reverse=True)
    text = source.text
    for edit in edits:
        text = edit.of(text)
    return replace(source, text=text)


def _edits(source: Source, lists: Lists) -> Iterator[Edit]:
    whole = yaml.compose(source.text, Loader=_LOADER)
    for topic, entry in _pairs(_under(whole, ASSIGNMENTS)):
        wanted = lists.get(topic)
        if wanted is None:
            continue
        for partition, node in _lists_of(_under(entry, PARTITIONS)):
            if partition in wanted:
                yield from _replaced(node, wanted[partition])


def _under(node: yaml.Node | None, key: str) -> yaml.Node | None:
    return next((value for name, value in _pairs(node) if name == key), None)


def _pairs(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((str(name.value), value) for name, value in node.value)


def _lists_of(node: yaml.Node | None) -> Iterator[tuple[int, yaml.SequenceNode]]:
    """By partition: the keys of a mapping, or the places in a list."""
    if isinstance(node, yaml.SequenceNode):
        found: Iterator[tuple[int, yaml.Node]] = enumerate(node.value)
    else:
        found = ((int(name), value) for name, value in _pairs(node))
    for partition, value in found:
        if isinstance(value, yaml.SequenceNode):
            yield partition, value


def _replaced(node: yaml.SequenceNode, wanted: Sequence[int]) -> Iterator[Edit]:
    if len(node.value) == len(wanted):
        for number, broker in zip(node.value, wanted, strict=True):
            if number.value != str(broker):
                yield Edit(number.start_mark.index, number.end_mark.index, str(broker))
    elif node.flow_style:
        text = f"[{', '.join(map(str, wanted))}]"
        yield Edit(node.start_mark.index, node.end_mark.index, text)
    else:
        raise BadUsage("a list that is written with dashes has another length; edit it by hand")


def _check(sources: Sequence[Source], before: Placement, lists: Lists) -> None:
    """Raise BadUsage where these texts do not mean the placement with these lists, and nothing else."""
    where = ", ".join(source.name for source in sources)
    try:
        after = load_sources(sources, fastest_parser())
    except BadPlacement as problem:
        raise BadUsage(f"{where}: this cannot be edited; edit it by hand: {problem}") from problem
    meant = _declared(before) | {
        TopicPartition(topic, partition): tuple(of)
        for topic, by_partition in lists.items()
        for partition, of in by_partition.items()
    }
    rest = digest_of(replace(after, explicit=before.explicit))
    if _declared(after) != meant or rest != before.digest:
        raise BadUsage(
            f"{where}: these lists cannot be edited without changing more; edit them by hand"
        )


def _declared(placement: Placement) -> dict[TopicPartition, tuple[int, ...]]:
    columns = (placement.explicit[name].to_pylist() for name in ("topic", "partition", "replicas"))
    return {TopicPartition(t, p): tuple(r) for t, p, r in zip(*columns, strict=True)}


def _diff(before: Source, after: Source, root: Path) -> str:
    path = Path(before.name)
    try:
        name = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        name = path.name
    lines = difflib.unified_diff(
        _LINES.findall(before.text),
        _LINES.findall(after.text),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
