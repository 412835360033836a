"""The inbox of a journal file: one file for each command, since the process at work has the lock of the journal itself.

A file holds key and value of the record, as a line of the journal does. The owner removes it once its answer is in the
journal; one that cannot be read is no command, and is left to whoever wrote it.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from replan.applying.journal.record_json import decode_entry, encode_entry
from replan.applying.journal.records import INBOX, Command
from replan.documents.files import write_file

_SUFFIX = ".json"


def folder_of(journal: Path) -> Path:
    """Where the commands for the owner of a journal are."""
    return journal.with_name(journal.name + ".inbox")


def put_command(journal: Path, command: Command) -> None:
    """Leave a command for the owner. Raises BadFile, OSError."""
    folder_of(journal).mkdir(mode=0o700, exist_ok=True)
    write_file(_path(journal, command.key), encode_entry(command))


def remove_command(journal: Path, key: str) -> None:
    """Remove a command that was obeyed, or is withdrawn."""
    if key.startswith(INBOX):
        with suppress(OSError):
            _path(journal, key).unlink()


def inbox_commands(journal: Path) -> Sequence[Command]:
    """The commands that are there, in the order in which they were sent."""
    try:
        names = sorted(folder_of(journal).glob(f"*{_SUFFIX}"))
    except OSError:
        return ()
    return [c for c in map(_read, names) if c is not None]


def _path(journal: Path, key: str) -> Path:
    return folder_of(journal) / (key.rpartition("/")[2] + _SUFFIX)


def _read(path: Path) -> Command | None:
    with suppress(OSError, ValueError):
        record = decode_entry(path.read_bytes())
        return record if isinstance(record, Command) else None
    return None
