"""Entries of `blacklists.leaders` and replica lists of a placement file changed, with the rest of the text as it is."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from msgspec import Struct
from msgspec.structs import replace

from replan.documents.files import read_content, write_file
from replan.errors import BadPlacement, BadUsage
from replan.model.declared.placement import LeaderBlacklist, LeaderMove, Placement, RackBlacklist
from replan.model.declared.where import MistakenPlacement
from replan.model.names import BrokerId, TopicPartition
from replan.placement_file.digest import digest_of
from replan.placement_file.load import load_sources
from replan.placement_file.scalars import yaml_word
from replan.placement_file.sources import Source, find_files, read_source
from replan.placement_file.yaml_text import fastest_parser, plain_rows

SECTION, LIST = "blacklists", "leaders"
BlacklistEntry = LeaderBlacklist | RackBlacklist
_BY_HAND = "edit it by hand"
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, some ten times faster, where it is there."""


class Edit(Struct, frozen=True):
    """A text in the place of another one."""

    start: int
    end: int
    text: str

    def of(self, text: str) -> str:
        """The text with it."""
        return text[: self.start] + self.text + text[self.end :]


def add_to_blacklist(files: Sequence[Path], entry: BlacklistEntry) -> Path:
    """Write an entry into the file that has the blacklist, or into the first; gives back which.

    Raises BadPlacement, and BadUsage where who it names is listed already, the entry is none, or the file cannot be
    edited without harm.
    """
    sources = [read_source(file) for file in find_files(files)]
    before = load_sources(sources, fastest_parser())
    for listed in _entries(before):
        if _who(listed) == _who(entry):
            raise BadUsage(
                f"{_named(_who(entry))} is on the leader blacklist already, at {listed.where}; remove it first, or "
                f"{_BY_HAND}"
            )
    at = next((i for i, s in enumerate(sources) if _value(s, SECTION, LIST) is not None), None)
    if at is None:
        having = (i for i, s in enumerate(sources) if _value(s, SECTION) is not None)
        at = next(having, 0)
    _check_texts(entry)
    written = _written(entry)
    _check_entry(written)
    edited = _edited(sources[at], _addition(sources[at], written))
    wanted = (*_entries(before), entry)
    return _save(sources, at, edited, before, wanted)


def remove_from_blacklist(files: Sequence[Path], who: BrokerId | str) -> Path:
    """Take the entry of a broker, or of a rack, out; gives back the file.

    Raises BadPlacement, and BadUsage where it is not listed.
    """
    sources = [read_source(file) for file in find_files(files)]
    before = load_sources(sources, fastest_parser())
    for at, source in enumerate(sources):
        items = _value(source, SECTION, LIST)
        number = None if items is None else _item_of(items, who)
        if items is not None and number is not None:
            edited = _edited(source, _removal(source, items, number))
            wanted = tuple(e for e in _entries(before) if _who(e) != who)
            return _save(sources, at, edited, before, wanted)
    listed = ", ".join(_named(_who(e)) for e in _entries(before)) or "nobody"
    raise BadUsage(f"{_named(who)} is not on the leader blacklist; listed: {listed}")


def _check_texts(entry: BlacklistEntry) -> None:
    """Raise BadUsage where bytes of the command line, which Python keeps as halves of characters, are no text."""
    named = {"rack": entry.rack} if isinstance(entry, RackBlacklist) else {}
    topics = {f"topics[{i}]": topic for i, topic in enumerate(entry.topics or ())}
    for key, text in (named | {"reason": entry.reason, "owner": entry.owner} | topics).items():
        try:
            (text or "").encode()
        except UnicodeEncodeError as problem:
            at = len(problem.object[: problem.start].encode())
            raise BadUsage(f"{key}: this is not text: byte {at} is not UTF-8") from problem


def _check_entry(written: str) -> None:
    """Raise BadUsage where no file may have this entry: what is wrong has no place in one yet."""
    alone = Source("", f"version: 1\n{SECTION}: {{{LIST}: [{written}]}}\n")
    try:
        load_sources([alone], fastest_parser())
    except MistakenPlacement as problem:
        wrong = (m.text.removeprefix(f"{SECTION}.{LIST}[0].") for m in problem.mistakes)
        raise BadUsage("\n".join(wrong)) from problem


def _entries(placement: Placement) -> tuple[BlacklistEntry, ...]:
    return (*placement.leader_entries, *placement.leader_racks)


def _who(entry: BlacklistEntry) -> BrokerId | str:
    return entry.rack if isinstance(entry, RackBlacklist) else entry.broker


def _named(who: BrokerId | str) -> str:
    return f"rack {who}" if isinstance(who, str) else f"broker {who}"


def _edited(source: Source, edit: Edit) -> Source:
    return replace(source, text=edit.of(source.text))


def _save(
    sources: Sequence[Source],
    at: int,
    edited: Source,
    before: Placement,
    wanted: Sequence[BlacklistEntry],
) -> Path:
    """Write the file, if it means what it meant, but for the blacklist, which is to be as wanted."""
    changed = [edited if i == at else s for i, s in enumerate(sources)]
    harmful = BadUsage(f"{edited.name}: this cannot be edited without changing more; {_BY_HAND}")
    try:
        after = load_sources(changed, fastest_parser())
    except BadPlacement as problem:
        raise harmful from problem
    plain = [replace(e, where=wanted[0].where) for e in wanted] if wanted else []
    expected = [replace(e, where=wanted[0].where) for e in _entries(after)] if wanted else []
    rest = replace(
        after, leader_blacklist=before.leader_blacklist, leader_racks=before.leader_racks
    )
    same = sorted(plain, key=repr) == sorted(expected, key=repr)
    if not same or bool(wanted) != bool(_entries(after)) or digest_of(rest) != before.digest:
        raise harmful
    path = Path(edited.name)
    if not path.is_file():
        raise BadUsage(f"{path}: this is no file, and cannot be edited; name one with -f")
    if read_content(path) != sources[at].written.encode():
        raise BadUsage(f"{path}: it was changed meanwhile; run the command again")
    write_file(path, edited.written)
    return path


def _value(source: Source, *keys: str) -> yaml.Node | None:
    """What a file says under these keys, none of which is that of replica lists."""
    node: yaml.Node | None = yaml.compose(plain_rows(source.text).text, Loader=_LOADER)
    for key in keys:
        node = _under(node, key)
    return node


def _item_of(items: yaml.Node, who: BrokerId | str) -> int | None:
    name = "rack" if isinstance(who, str) else "broker"
    for number, item in enumerate(items.value):
        for key, value in item.value:
            if key.value == name and value.value == str(who):
                return number
    return None


def _flows(node: yaml.Node) -> bool:
    """Whether it is written with brackets or braces."""
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _start(node: yaml.Node) -> int:
    return int(node.start_mark.index)


def _end(node: yaml.Node) -> int:
    """Where a value ends: a block collection with its last value, since its own end is where the next token begins."""
    if isinstance(node, yaml.ScalarNode) or _flows(node) or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _addition(source: Source, entry: str) -> Edit:
    """Where and how an entry is written."""
    text, line_end = source.text, "\r\n" if "\r\n" in source.text else "\n"
    section, items = _value(source, SECTION), _value(source, SECTION, LIST)
    if items is not None:
        return _into_list(text, items, entry, line_end)
    if section is None:
        lead = "" if text.endswith("\n") else line_end
        added = f"{lead}{SECTION}:{line_end}  {LIST}:{line_end}    - {entry}{line_end}"
        return Edit(len(text), len(text), added)
    if _flows(section):
        start = _start(section) + 1
        behind = ", " if section.value else ""
        return Edit(start, start, f"{LIST}: [{entry}]{behind}")
    first = _start(section)
    indent = " " * (first - _line_start(text, first))
    start = _line_start(text, first)
    return Edit(start, start, f"{indent}{LIST}:{line_end}{indent}  - {entry}{line_end}")


def _into_list(text: str, items: yaml.Node, entry: str, line_end: str) -> Edit:
    """Behind the last entry."""
    if _flows(items):
        at = _end(items.value[-1]) if items.value else _start(items) + 1
        return Edit(at, at, (", " if items.value else "") + entry)
    last = items.value[-1]
    end = _line_end(text, _end(last))
    lead = "" if text[:end].endswith("\n") else line_end
    indent = " " * int(items.start_mark.column)
    return Edit(end, end, f"{lead}{indent}- {entry}{line_end}")


def _removal(source: Source, items: yaml.Node, number: int) -> Edit:
    """What is taken away: the lines of a block entry, or an element of a flow list with one comma."""
    text, item = source.text, items.value[number]
    first_line = _dash_line(text, items, item)
    if len(items.value) == 1:
        start = _start(items)
        if _flows(items):
            return Edit(start, int(items.end_mark.index), "[]")
        section = _value(source, SECTION)
        keys = [] if section is None else [key for key, _ in section.value if key.value == LIST]
        colon = text.index(":", int(keys[0].end_mark.index)) + 1
        kept = text[colon:first_line]
        return Edit(colon, _line_end(text, _end(item)), f" []{kept}")
    if not _flows(items):
        return Edit(first_line, _line_end(text, _end(item)), "")
    if number + 1 < len(items.value):
        return Edit(_start(item), _start(items.value[number + 1]), "")
    return Edit(_end(items.value[number - 1]), _end(item), "")


def _dash_line(text: str, items: yaml.Node, item: yaml.Node) -> int:
    """Where the line of a block entry's dash begins; comments may stand between it and the entry."""
    return text.rfind("\n" + " " * int(items.start_mark.column) + "-", 0, _start(item)) + 1


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """Behind the line break that ends the line; what stands behind an entry on its line is its own comment."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _written(entry: BlacklistEntry) -> str:
    """The entry as YAML, on one line."""
    who = _who(entry)
    parts = {"rack": yaml_word(who)} if isinstance(who, str) else {"broker": str(who)}
    for key, value in (("reason", entry.reason), ("owner", entry.owner)):
        if value is not None:
            parts[key] = yaml_word(value)
    if entry.review_by is not None:
        parts["reviewBy"] = entry.review_by
    if entry.topics:
        parts["topics"] = "[" + ", ".join(json.dumps(topic) for topic in entry.topics) + "]"
    if entry.move is LeaderMove.LATER:
        parts["move"] = str(entry.move)
    if entry.until_caught_up:
        parts["until"] = "caught-up"
    return "{" + ", ".join(f"{key}: {value}" for key, value in parts.items()) + "}"


DeclaredLists = Mapping[str, Mapping[int, Sequence[int]]]
"""By topic and partition."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
ASSIGNMENTS_KEY, PARTITIONS_KEY = "assignments", "partitions"


def patch_of(paths: Sequence[Path], placement: Placement, lists: DeclaredLists, root: Path) -> str:
    """The unified diff, for `git apply` in `root`, that lets these files declare these lists; empty where they do.

    Raises BadUsage where the files are no longer those of the placement, or cannot be edited without changing more.
    """
    before = [read_source(path) for path in find_files(paths)]
    if load_sources(before, fastest_parser()).digest != placement.digest:
        raise BadUsage("the placement was changed meanwhile; the next round proposes again")
    after = [_edited_lists(source, lists) for source in before]
    _check(after, placement, lists)
    return "".join(_diff(b, a, root) for b, a in zip(before, after, strict=True))


def _edited_lists(source: Source, lists: DeclaredLists) -> Source:
    edits = sorted(_edits(source, lists), key=lambda edit: edit.start, reverse=True)
    text = source.text
    for edit in edits:
        text = edit.of(text)
    return replace(source, text=text)


def _edits(source: Source, lists: DeclaredLists) -> Iterator[Edit]:
    whole = yaml.compose(source.text, Loader=_LOADER)
    for topic, entry in _pairs(_under(whole, ASSIGNMENTS_KEY)):
        wanted = lists.get(topic)
        if wanted is None:
            continue
        for partition, node in _lists_of(_under(entry, PARTITIONS_KEY)):
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
        numbered: Iterator[tuple[int, yaml.Node]] = enumerate(node.value)
    else:
        numbered = ((int(name), value) for name, value in _pairs(node))
    for partition, value in numbered:
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


def _check(sources: Sequence[Source], before: Placement, lists: DeclaredLists) -> None:
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


def _lines(source: Source) -> list[str]:
    """Those of the file, as git counts them: a byte order mark is of the first one, a carriage return of its own."""
    return _LINES.findall(source.written)


def _diff(before: Source, after: Source, root: Path) -> str:
    path = Path(before.name)
    try:
        name = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        name = path.name
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
