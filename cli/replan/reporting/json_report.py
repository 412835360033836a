"""What `--format json` prints: one document with its format and kind, and what it is about as programs take it."""

import json
from collections.abc import Mapping

from msgspec import Struct

from replan.model.declared.where import Where


def json_report(
    kind: str, fields: Mapping[str, object], *, indent: int | None = 2, ensure_ascii: bool = True
) -> str:
    """One document, format version 1; ends with a newline.

    Of values it has their fields, by the names that documents have, and of a place in a file its text.
    """
    document = {"formatVersion": 1, "kind": kind, **fields}
    text = json.dumps(
        document, indent=indent, ensure_ascii=ensure_ascii, allow_nan=False, default=_written
    )
    return text + "\n"


def _written(value: object) -> object:
    match value:
        case Where():
            return str(value)
        case Struct():
            fields = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            return {key: getattr(value, name) for key, name in fields}
        case _:
            raise TypeError(f"not a value of a report: {type(value).__name__}")
