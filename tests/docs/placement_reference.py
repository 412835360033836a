"""The reference of the placement file, made from its JSON Schema and from what this release refuses.

A key's row says what the schema says: `title` of a type, `description`, `default` or `x-absent` (what holds where the
key is absent), `examples`, `x-since`, which what is below inherits. The parser says which keys are not supported yet.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from replan.placement_file.api import PLACEMENT, Schema, read_schema

_INTRODUCTION = """\
# The placement file

<!-- Made from schema/placement.v1.json by tests/docs/test_placement_reference.py; REPLAN_REWRITE=1 makes it again. -->

{description}

`replan init` writes a first file, `replan export` the file that describes a cluster as it is, and
`replan validate -f FILE` checks one without a cluster. Where several entries concern one topic,
[which entry counts](precedence.md) says which.

Editors with a YAML language server check it as you type: put what `replan schema placement` prints beside the file, as
`placement.v1.json`, and begin the file with `# yaml-language-server: $schema=placement.v1.json`.

In the tables, TOPIC, BROKER, RACK and PARTITION are a name or number that you choose; `[]` is an element of a list.
What several entries have alike stands [once](#keys-of-several-entries).

```yaml
{example}```
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the file: where it may be written, and what the schema says of it."""

    path: tuple[str, ...]
    """Its keys from the top; `*` where the author chooses the name, `[]` for an element of a list."""
    names: tuple[str, ...]
    """The same, with what to write instead of `*`."""
    schema: Schema
    required: bool
    since: str


def reference() -> str:
    """The whole page; ends with a newline."""
    root = read_schema(PLACEMENT)
    found = list(keys(root))
    sections = [key for key in found if len(key.path) == 1]
    shown = {k.path[0]: example_of(k, found) for k in sections}
    parts = [_INTRODUCTION.format(description=root["description"], example=as_yaml(shown))]
    alike = Counter(map(_alike, found))
    once = {k.path: k for k in found if len(k.path) > 1 and alike[_alike(k)] > 1}
    parts += [_section(key, found, once) for key in sections]
    parts += [_shared(once.values()), _types(root)]
    return "\n".join(parts)


def _alike(key: Key) -> tuple[str, ...]:
    """What keys have in common that stand once: all but where they are."""
    return (key.names[-1], *_cells(key)[1:])


def _shared(once: Iterable[Key]) -> str:
    """The keys that several entries have, each once."""
    rows = {_alike(key): key for key in once}.values()
    return "\n".join(["## Keys of several entries", "", *_table(rows, whole=False), ""])


def keys(root: Schema) -> Iterator[Key]:
    """Every key, those of a section after the section."""
    yield from _keys(root, root, (), (), root["x-since"])


def _keys(
    root: Schema, at: Schema, path: tuple[str, ...], names: tuple[str, ...], since: str
) -> Iterator[Key]:
    for step, name, inner, required in _inside(root, at):
        below = (*path, step)
        inner_since = inner.get("x-since", since)
        if step == "[]":
            yield from _keys(root, inner, below, (*names[:-1], f"{names[-1]}[]"), inner_since)
            continue
        key = Key(below, (*names, name), inner, required, inner_since)
        if name.isupper() and inner.get("type") == "object":
            yield from _keys(root, inner, below, key.names, inner_since)
            continue
        yield key
        if "title" not in inner:
            yield from _keys(root, inner, below, key.names, inner_since)


def _inside(root: Schema, at: Schema) -> Iterator[tuple[str, str, Schema, bool]]:
    """The keys right below: path step, name, schema, whether required."""
    for name, inner in at.get("properties", {}).items():
        yield name, name, resolved(root, inner), name in at.get("required", ())
    for inner in at.get("patternProperties", {}).values():
        yield "*", "PARTITION", resolved(root, inner), False
    if isinstance(at.get("additionalProperties"), dict):
        names = resolved(root, at["propertyNames"])
        named = {"broker id": "BROKER", "topic or pattern": "TOPIC", "rack": "RACK"}.get(
            names.get("title", "")
        )
        yield "*", named or "PARTITION", resolved(root, at["additionalProperties"]), False
    if at.get("type") == "array" and "properties" in resolved(root, at["items"]):
        yield "[]", "", resolved(root, at["items"]), False


def resolved(root: Schema, schema: Schema) -> Schema:
    """A schema with what it refers to, its own words first."""
    if "$ref" not in schema:
        return schema
    referred = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    own = {name: value for name, value in schema.items() if name != "$ref"}
    return {**resolved(root, referred), **own}


def example_of(key: Key, found: list[Key]) -> Any:
    """The first example of a key, else one made of the examples of the keys right below."""
    if "examples" in key.schema:
        return key.schema["examples"][0]
    below = [k for k in found if k.path[:-1] == key.path and k.since == key.since]
    return {k.path[-1]: example_of(k, found) for k in below}


def as_yaml(value: Any, *, on_one_line: bool = False) -> str:
    """Block style where mappings are nested, unless `on_one_line`; numbers and dates without quotes."""
    style = True if on_one_line else None
    text: str = yaml.safe_dump(value, sort_keys=False, default_flow_style=style, width=1_000)
    return re.sub(r"'([0-9TZ:+-]+)'", r"\1", text.removesuffix("...\n"))


def _section(section: Key, found: list[Key], once: Mapping[tuple[str, ...], Key]) -> str:
    name = section.path[0]
    lines = [f"## {name}", "", section.schema["description"], ""]
    if section.path == ("version",):
        return "\n".join(lines)
    lines += ["```yaml", as_yaml({name: example_of(section, found)}).rstrip(), "```", ""]
    rows = [k for k in found if k.path[0] == name and len(k.path) > 1]
    if own := [k for k in rows if k.path not in once]:
        lines += [*_table(own), ""]
    if also := [f"`{'.'.join(k.names)}`" for k in rows if k.path in once]:
        lines += [f"Also, [as elsewhere](#keys-of-several-entries): {', '.join(also)}.", ""]
    return "\n".join(lines)


def _table(rows: Iterable[Key], *, whole: bool = True) -> list[str]:
    """A row for each key; `whole`: with where it is."""
    cells = [_cells(key) for key in rows]
    named = cells if whole else [(f"`{of[0].strip('`').split('.')[-1]}`", *of[1:]) for of in cells]
    lines = [f"| {' | '.join(c.replace('|', chr(92) + '|') for c in of)} |" for of in named]
    return ["| key | meaning | type | default | example |", f"|{' --- |' * 5}", *lines]


def _cells(key: Key) -> tuple[str, ...]:
    return (
        f"`{'.'.join(key.names)}`",
        key.schema["description"].removesuffix(" Not supported yet."),
        type_of(key.schema),
        _default(key),
        ", ".join(f"`{_short(e)}`" for e in key.schema.get("examples", ())[:2]),
    )


def _default(key: Key) -> str:
    if key.required:
        return "required"
    if "default" in key.schema:
        return f"`{json.dumps(key.schema['default'])}`"
    absent: str = key.schema.get("x-absent", "–")
    return absent


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    return as_yaml(value, on_one_line=True).strip()


def type_of(schema: Schema) -> str:
    """A key's type in words."""
    if "title" in schema:
        title: str = schema["title"]
        return title
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    words = {"object": "mapping", "array": "list", "string": "text", "boolean": "`true` or `false`"}
    kinds = schema["type"]
    listed: list[str] = kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(words.get(name, name) for name in listed)


def _types(root: Schema) -> str:
    titled = {s["title"]: s for s in root["$defs"].values() if "description" in s and "title" in s}
    lines = ["## Types", "", "| type | means | examples |", "| --- | --- | --- |"]
    for title, schema in sorted(titled.items()):
        examples = ", ".join(f"`{_short(e)}`" for e in schema.get("examples", ()))
        lines.append(f"| {title} | {schema['description']} | {examples} |")
    return "\n".join([*lines, ""])
