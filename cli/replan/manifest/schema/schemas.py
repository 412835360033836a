"""Find the JSON Schemas, wherever this program runs from, and read them."""

import json
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

PLACEMENT = "placement.v1.json"

Schema = dict[str, Any]


def directory() -> Traversable:
    """Where the schemas live: inside an installed package, at the top of a checkout."""
    installed = files("replan") / "schema"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "schema"


def find_schema(name: str) -> Traversable:
    """One schema by its file name, such as `placement.v1.json`."""
    return directory() / name


def read_schema(name: str) -> Schema:
    """One schema, read."""
    schema: Schema = json.loads(find_schema(name).read_text(encoding="utf-8"))
    return schema
