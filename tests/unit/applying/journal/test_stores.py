"""What every store of a journal promises, whichever it is: one suite over all of them.

A store that needs a cluster derives a class of its own from `StoreLaws`, with its marks, and opens it there.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.applying.journal.records import APP, OWN, RECORDS

from replan.applying.api import (
    Command,
    FileJournal,
    Forget,
    Record,
    SavedRate,
    SteeredJournal,
    Verb,
    folder_of,
    peek,
    put_command,
)
from replan.errors import Held, WrongCluster
from replan.model.api import LEADER_RATE, BrokerId


class StoreLaws:
    """Derive from it, and say how the store is opened and read."""

    def open(self, cluster_id: str = "cluster") -> AbstractContextManager[SteeredJournal]:
        """The same store each time within a test."""
        raise NotImplementedError

    def peek(self, cluster_id: str = "cluster") -> Sequence[Record]:
        """Read without opening."""
        raise NotImplementedError

    def send(self, command: Command) -> None:
        """Leave a command for whoever has it open, from another process."""
        raise NotImplementedError

    def arrived(self, journal: SteeredJournal) -> Sequence[Command]:
        """What has come into the inbox by now."""
        return journal.arrived()

    def test_a_command_arrives_until_it_is_answered_and_its_sender_reads_the_answer(self) -> None:
        first, second = (Command("a-1", number, Verb.PAUSE, sender="bob") for number in "12")
        with self.open() as journal:
            journal.append([APP])
            assert self.arrived(journal) == []
            self.send(first)
            self.send(second)
            assert self.arrived(journal) == [first, second]
            assert self.arrived(journal) == [first, second]
            answer = replace(first, obeyed_by="ann")
            journal.append([answer])
            assert self.arrived(journal) == [second]
            assert answer in self.peek()
            journal.append([Forget(answer.key)])
            assert self.arrived(journal) == [second]

    def test_what_was_sent_to_the_process_before_does_not_arrive(self) -> None:
        late = Command("a-1", "1", Verb.PAUSE, sender="bob")
        with self.open() as journal:
            journal.append([APP])
            self.send(late)
        with self.open() as again:
            assert self.arrived(again) == []

    def test_it_outlives_its_process_with_the_latest_of_every_key(self) -> None:
        with self.open() as journal:
            journal.append(RECORDS)
            journal.append([Forget(OWN.key), SavedRate(BrokerId(4), LEADER_RATE, None, ("5",))])
            journal.append([])
            kept = list(journal.read())
        with self.open() as again:
            assert list(again.read()) == kept
        assert OWN not in kept
        assert len(kept) == len(RECORDS) - 1

    def test_it_begins_empty_and_is_read_without_being_opened(self) -> None:
        assert list(self.peek()) == []
        with self.open() as journal:
            assert list(journal.read()) == []
            journal.append([APP])
            assert list(self.peek()) == [APP]
            journal.append([OWN])
            assert list(self.peek()) == [APP, OWN]
        assert list(self.peek()) == [APP, OWN]

    def test_one_has_it_at_a_time(self) -> None:
        with self.open() as journal:
            journal.append([APP])
            with pytest.raises(Held), self.open():
                pass
            journal.append([OWN])
        with self.open() as again:
            assert list(again.read()) == [APP, OWN]

    def test_it_belongs_to_one_cluster(self) -> None:
        with self.open() as journal:
            journal.append([APP])
        with pytest.raises(WrongCluster), self.open("another"):
            pass
        with pytest.raises(WrongCluster):
            self.peek("another")
        assert list(self.peek()) == [APP]

    def test_what_was_read_does_not_change_when_more_is_written(self) -> None:
        with self.open() as journal:
            journal.append([APP])
            before = journal.read()
            journal.append([OWN])
            assert list(before) == [APP]


class TestFileJournal(StoreLaws):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "folder" / "replan.journal"

    def open(self, cluster_id: str = "cluster") -> FileJournal:
        return FileJournal(self.path, cluster_id)

    def send(self, command: Command) -> None:
        put_command(self.path, command)

    def test_what_is_no_command_is_left_alone(self) -> None:
        with self.open() as journal:
            journal.append([APP])
            self.send(Command("a-1", "1", Verb.PAUSE))
            folder = folder_of(self.path)
            (folder / "2.json").write_text('{"key": "inbox/a-1/2", "value": {"verb": "sing"}}')
            (folder / "3.json").write_text("{")
            assert [c.id for c in self.arrived(journal)] == ["1"]
        assert {p.name for p in folder.iterdir()} == {"1.json", "2.json", "3.json"}

    def peek(self, cluster_id: str = "cluster") -> Sequence[Record]:
        return peek(self.path, cluster_id)
