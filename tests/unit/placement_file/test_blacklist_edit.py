"""Entries of the leader blacklist put into files and taken out: only the entry changes, and comments stay."""

import os
import stat
import threading
from pathlib import Path

import pytest
from tests.builders import listed_leader

from replan.errors import BadUsage, ReplanError
from replan.model.api import BrokerId, LeaderBlacklist, RackBlacklist, Where
from replan.placement_file.api import add_to_blacklist, load_placement, remove_from_blacklist

SEVEN = listed_leader(7, reason="disk at 92 %", review_by="2026-12-01")
WRITTEN = "{broker: 7, reason: disk at 92 %, reviewBy: 2026-12-01}"
HEAD = "version: 1  # ours\nassignments: {}\n"


def placed(folder: Path, text: str, name: str = "placement.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def brokers_of(*files: Path) -> set[int]:
    return {e.broker for e in load_placement(files).leader_entries}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (HEAD, f"{HEAD}blacklists:\n  leaders:\n    - {WRITTEN}\n"),
        (HEAD.rstrip(), f"{HEAD}blacklists:\n  leaders:\n    - {WRITTEN}\n"),
        (
            HEAD.replace("\n", "\r\n"),
            f"{HEAD}blacklists:\n  leaders:\n    - {WRITTEN}\n".replace("\n", "\r\n"),
        ),
        (
            f"{HEAD}blacklists:\n  # who\n  replicas:\n  - broker: 9\n",
            f"{HEAD}blacklists:\n  # who\n  leaders:\n    - {WRITTEN}\n  replicas:\n  - broker: 9\n",
        ),
        (
            f"blacklists:\n  leaders:\n  - broker: 1  # slow\n    reason: x\n\n# end\n{HEAD}",
            f"blacklists:\n  leaders:\n  - broker: 1  # slow\n    reason: x\n  - {WRITTEN}\n\n# end\n{HEAD}",
        ),
        (
            f"{HEAD}blacklists: {{leaders: [{{broker: 1}}]}}  # short\n",
            f"{HEAD}blacklists: {{leaders: [{{broker: 1}}, {WRITTEN}]}}  # short\n",
        ),
        (
            f"{HEAD}blacklists: {{leaders: []}}\n",
            f"{HEAD}blacklists: {{leaders: [{WRITTEN}]}}\n",
        ),
        (
            f"{HEAD}blacklists: {{replicas: [{{broker: 9}}]}}\n",
            f"{HEAD}blacklists: {{leaders: [{WRITTEN}], replicas: [{{broker: 9}}]}}\n",
        ),
        (f"{HEAD}blacklists: {{}}\n", f"{HEAD}blacklists: {{leaders: [{WRITTEN}]}}\n"),
        (
            f"\ufeff{HEAD}blacklists:\n  leaders:\n    - # a-b\n      broker: 1\n",
            f"\ufeff{HEAD}blacklists:\n  leaders:\n    - # a-b\n      broker: 1\n    - {WRITTEN}\n",
        ),
        (
            f"# grün\n{HEAD}blacklists:\n  leaders: [{{broker: 1}}]",
            f"# grün\n{HEAD}blacklists:\n  leaders: [{{broker: 1}}, {WRITTEN}]",
        ),
    ],
)
def test_an_entry_is_added_and_nothing_else_changes(
    before: str, after: str, tmp_path: Path
) -> None:
    path = placed(tmp_path, before)
    assert add_to_blacklist([path], SEVEN) == path
    assert path.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "  leaders:\n  - {broker: 1} # a\n  # seven\n  - broker: 7\n    reason: x #\n  # b\n  - {broker: 9}\n",
            "  leaders:\n  - {broker: 1} # a\n  # seven\n  # b\n  - {broker: 9}\n",
        ),
        (
            "  leaders:  # nobody\n    # flaps\n    - broker: 7\n# end\n",
            "  leaders: []  # nobody\n    # flaps\n# end\n",
        ),
        ("  leaders: [{broker: 7}]  # one\n", "  leaders: []  # one\n"),
        ("  leaders: [{broker: 7}, {broker: 9}]\n", "  leaders: [{broker: 9}]\n"),
        ("  leaders: [{broker: 1}, {broker: 7}]\n", "  leaders: [{broker: 1}]\n"),
        ("  leaders:\n  - {broker: 1}\n  - {broker: 7}", "  leaders:\n  - {broker: 1}\n"),
        (
            "  leaders:\n  -\n    # slow - disk\n    broker: 7\n  - {broker: 1}\n",
            "  leaders:\n  - {broker: 1}\n",
        ),
    ],
)
def test_an_entry_is_taken_out_and_nothing_else_changes(
    before: str, after: str, tmp_path: Path
) -> None:
    path = placed(tmp_path, f"{HEAD}blacklists:\n{before}")
    remove_from_blacklist([path], BrokerId(7))
    assert path.read_text() == f"{HEAD}blacklists:\n{after}"


def test_what_is_added_and_removed_leaves_the_meaning_as_it_was(tmp_path: Path) -> None:
    path = placed(tmp_path, f"{HEAD}blacklists:\n  leaders:\n    - broker: 1\n")
    digest = load_placement([path]).digest
    add_to_blacklist([path], SEVEN)
    assert load_placement([path]).digest != digest
    remove_from_blacklist([path], BrokerId(7))
    assert load_placement([path]).digest == digest


@pytest.mark.parametrize(
    "entry",
    [
        listed_leader(7, reason='a: "b", {c} # d'),
        listed_leader(7, reason="true"),
        listed_leader(7, reason="12"),
        listed_leader(7, reason="2026-12-01"),
        listed_leader(7, reason="a\nb\x7f \u2028 \ufffe"),
        listed_leader(7, review_by="2026-12-01T18:00:00Z", topics=("*-eu", "orders")),
        listed_leader(7, later=True, until_caught_up=True),
    ],
)
def test_what_is_written_is_read_back(entry: LeaderBlacklist, tmp_path: Path) -> None:
    path = placed(tmp_path, HEAD)
    add_to_blacklist([path], entry)
    [found] = load_placement([path]).leader_entries
    assert (found.broker, found.reason, found.review_by) == (7, entry.reason, entry.review_by)
    assert (found.topics, found.move) == (entry.topics, entry.move)
    assert found.until_caught_up == entry.until_caught_up


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (listed_leader(7, reason=""), '^reason: "" is not right here; it must be text'),
        (listed_leader(7, topics=("a b",)), r"^topics\[0\]: 'a b' is no legal topic name"),
        (listed_leader(2**31), "^broker: 2147483648 is not right here; it must be a broker id"),
        (listed_leader(7, reason="é\udcff"), "^reason: this is not text: byte 2 is not UTF-8$"),
        (listed_leader(7, topics=("a", "\udcff")), r"^topics\[1\]: this is not text: byte 0 is"),
        (
            RackBlacklist("a\udce4", Where("", 0, 0)),
            "^rack: this is not text: byte 1 is not UTF-8$",
        ),
        (RackBlacklist("", Where("", 0, 0)), '^rack: "" is not right here; it must be text'),
    ],
)
def test_what_no_file_may_say_is_said_of_the_entry(
    entry: LeaderBlacklist | RackBlacklist, told: str, tmp_path: Path
) -> None:
    path = placed(tmp_path, HEAD)
    with pytest.raises(BadUsage, match=told):
        add_to_blacklist([path], entry)
    assert path.read_text() == HEAD


def test_a_file_keeps_who_may_read_it(tmp_path: Path) -> None:
    path = placed(tmp_path, HEAD)
    path.chmod(0o660)
    add_to_blacklist([path], SEVEN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_what_is_no_file_is_not_edited(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(HEAD,))
    writer.start()
    with pytest.raises(BadUsage, match=r"pipe\.yaml: this is no file"):
        add_to_blacklist([pipe], SEVEN)
    writer.join()


def test_of_several_files_the_one_with_the_blacklist_is_edited(tmp_path: Path) -> None:
    first = placed(tmp_path, HEAD, "a.yaml")
    second = placed(tmp_path, "version: 1\nblacklists: {leaders: [{broker: 1}]}\n", "b.yaml")
    assert add_to_blacklist([tmp_path], SEVEN) == second
    assert brokers_of(first, second) == {1, 7}
    assert remove_from_blacklist([tmp_path], BrokerId(1)) == second
    assert brokers_of(first, second) == {7}
    assert first.read_text() == HEAD


def test_a_broker_is_listed_once(tmp_path: Path) -> None:
    path = placed(tmp_path, f"{HEAD}blacklists: {{leaders: [{{broker: 7}}]}}\n")
    before = path.read_text()
    with pytest.raises(BadUsage, match=r"placement\.yaml:3:"):
        add_to_blacklist([path], SEVEN)
    assert path.read_text() == before


def test_a_broker_that_is_not_listed_cannot_be_taken_off(tmp_path: Path) -> None:
    path = placed(tmp_path, f"{HEAD}blacklists: {{leaders: [{{broker: 1}}]}}\n")
    with pytest.raises(BadUsage, match="listed: broker 1"):
        remove_from_blacklist([path], BrokerId(7))


def test_a_rack_is_added_and_taken_out_as_a_broker_is(tmp_path: Path) -> None:
    path = placed(tmp_path, f"{HEAD}blacklists: {{leaders: [{{broker: 7}}]}}\n")
    rack = RackBlacklist("eu-1a", Where("", 0, 0), reason="maintenance", topics=("pay-*",))
    add_to_blacklist([path], rack)
    written = '{rack: eu-1a, reason: maintenance, topics: ["pay-*"]}'
    assert f"leaders: [{{broker: 7}}, {written}]" in path.read_text()
    with pytest.raises(BadUsage, match="rack eu-1a is on the leader blacklist already, at"):
        add_to_blacklist([path], rack)
    with pytest.raises(BadUsage, match=r"rack eu-1b is not on .* listed: broker 7, rack eu-1a"):
        remove_from_blacklist([path], "eu-1b")
    remove_from_blacklist([path], BrokerId(7))
    assert brokers_of(path) == set()
    remove_from_blacklist([path], "eu-1a")
    assert path.read_text() == f"{HEAD}blacklists: {{leaders: []}}\n"
    add_to_blacklist([path], RackBlacklist("7", Where("", 0, 0)))
    assert 'leaders: [{rack: "7"}]' in path.read_text()


@pytest.mark.parametrize("text", ["{version: 1, assignments: {}}\n", f"{HEAD}...\n"])
def test_a_file_that_cannot_be_edited_without_harm_stays_as_it_is(
    text: str, tmp_path: Path
) -> None:
    path = placed(tmp_path, text)
    with pytest.raises(ReplanError, match="by hand"):
        add_to_blacklist([path], SEVEN)
    assert path.read_text() == text
