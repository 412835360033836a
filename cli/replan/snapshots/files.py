"""Snapshots by path: which of the two forms is there, or should be.

A folder is the Parquet form, a file is the JSON form. A path that ends in `.json` is written as a document,
any other as a folder. Both are there whole or not at all. Parquet is imported only where it is read or written: that
takes as long as to read a small document.
"""

from pathlib import Path

from replan.documents.files import read_content, read_text, write_file
from replan.documents.json_text import Node, parse_document, render_document
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.snapshot import Snapshot
from replan.snapshots.head import Identity, identity_of
from replan.snapshots.json_form import from_content, to_document


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot of either form; raises BadFile."""
    if path.is_dir():
        from replan.snapshots.parquet_form import read_folder  # noqa: PLC0415

        return read_folder(path)
    with garbage_collection_paused():  # it makes values by the hundred thousand, and no cycles
        return from_content(read_content(path), str(path))


def read_identity(path: Path) -> Identity:
    """Read of which cluster and moment a snapshot is, with as little else as its form allows; raises BadFile."""
    if path.is_dir():
        from replan.snapshots.parquet_form import read_header  # noqa: PLC0415

        return read_header(path)
    return identity_of(Node(read_json_object(path), str(path)))


def write_snapshot(snapshot: Snapshot, path: Path) -> None:
    """Write a snapshot in the form that the path asks for; to a device or a pipe as a document. Raises BadFile."""
    is_stream = path.exists() and not path.is_dir() and not path.is_file()
    if path.suffix == ".json" or is_stream:
        write_file(path, render_document(to_document(snapshot)))
    else:
        from replan.snapshots.parquet_form import write_folder  # noqa: PLC0415

        write_folder(snapshot, path)


def read_json_object(path: Path) -> dict[str, object]:
    """Read a file as one JSON object; raises BadFile."""
    return parse_document(read_text(path), str(path))
