"""What a loop proposes appears as files that belong together, and goes away with its reason."""

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import brokers, snapshot, state

from replan.commands.api import PATCH, PLAN, PROPOSAL, Proposals, write_proposal
from replan.errors import BadFile
from replan.placement_file.api import load_placement
from replan.planning.api import loads, make_plan
from replan.reconciling.api import Proposal

TEXT = "version: 1\nassignments:\n  orders: {partitions: {0: [1, 2, 3]}}   # orders\n"


def proposal(folder: Path, moves_to: int, lists: dict[str, dict[int, tuple[int, ...]]]) -> Proposal:
    file = folder / "placement.yaml"
    file.write_text(TEXT)
    loaded = load_placement([file])
    seen = snapshot([state([1, 2, moves_to])], registered=brokers(6))
    return Proposal(loaded, seen, make_plan(loaded, seen), lists)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_proposal_comes_with_its_plan_and_patch_and_goes_with_its_reason(tmp_path: Path) -> None:
    out, files = tmp_path / "out", [tmp_path / "placement.yaml"]
    out.mkdir()
    both = proposal(tmp_path, 5, {"orders": {0: (1, 2, 4)}})
    write_proposal(both, out, files)
    assert names(out) == ["placement.patch", "plan.html", "plan.json", "proposal.md"]
    assert loads((out / PLAN).read_text(), "plan.json") == both.plan
    text = (out / PROPOSAL).read_text()
    assert text.splitlines()[0].startswith("<!-- replan proposal ")
    assert "| `orders-0` | \\[1,2,3\\] | \\[1,2,4\\] |" in text
    assert "\n## replan plan: " in text
    assert text.count("<!--") == 1
    assert "+  orders: {partitions: {0: [1, 2, 4]}}   # orders\n" in (out / PATCH).read_text()
    write_proposal(proposal(tmp_path, 3, {"orders": {0: (1, 2, 4)}}), out, files)
    assert names(out) == ["placement.patch", "proposal.md"]
    write_proposal(proposal(tmp_path, 3, {}), out, files)
    assert names(out) == []


def test_a_list_that_cannot_be_edited_is_named_without_a_patch(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    write_proposal(
        proposal(tmp_path, 3, {"orders": {9: (1, 2, 4)}}), out, [tmp_path / "placement.yaml"]
    )
    assert names(out) == ["proposal.md"]
    assert "No patch was made: " in (out / PROPOSAL).read_text()


def test_the_last_proposal_is_written_and_nobody_waits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, found = tmp_path / "a" / "b", proposal(tmp_path, 5, {})
    with Proposals(out, [tmp_path / "placement.yaml"]) as proposals:
        for number in range(20):
            proposals.propose(named(found, f"c{number}"))
    assert "c19" in (out / PROPOSAL).read_text()
    assert capsys.readouterr().err == ""


def test_a_second_signal_waits_for_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "nobody-writes-it")
    with Proposals(tmp_path / "out", [tmp_path / "nobody-writes-it"]) as proposals:
        proposals.propose(proposal(tmp_path, 5, {"orders": {0: (1, 2, 4)}}))
        begun = time.monotonic()
        proposals.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        assert time.monotonic() - begun < 5
        (tmp_path / "nobody-writes-it").open("w").close()


def test_one_that_is_not_written_in_time_at_the_end_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "nobody-writes-it")
    out = tmp_path / "out"
    with Proposals(out, [tmp_path / "nobody-writes-it"], last_seconds=0.2) as proposals:
        proposals.propose(proposal(tmp_path, 5, {"orders": {0: (1, 2, 4)}}))
    assert proposals.failed == 1
    assert capsys.readouterr().err == f"note: --proposals: {out}: not written within 0.2 s\n"
    (tmp_path / "nobody-writes-it").open("w").close()


def named(of: Proposal, name: str) -> Proposal:
    return Proposal(of.placement, of.snapshot, replace(of.plan, cluster_name=name), of.lists)


def test_a_folder_that_cannot_be_is_an_error_and_a_disk_that_fails_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFile, match=r"file/out: cannot make: Not a directory"):
        Proposals(tmp_path / "file" / "out", []).__enter__()
    out = tmp_path / "out"
    with Proposals(out, [tmp_path / "placement.yaml"]) as proposals:
        (out / PROPOSAL).mkdir()
        proposals.propose(proposal(tmp_path, 5, {}))
    assert proposals.failed == 1
    assert "note: --proposals: " in capsys.readouterr().err


def test_a_proposal_that_could_not_be_written_is_tried_again_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with Proposals(out, [tmp_path / "placement.yaml"], retry_seconds=0.05) as proposals:
        (out / PROPOSAL).mkdir()
        proposals.propose(proposal(tmp_path, 5, {}))
        while proposals.failed < 3:
            time.sleep(0.01)
        (out / PROPOSAL).rmdir()
        while not (out / PROPOSAL).is_file():
            time.sleep(0.01)
    said = capsys.readouterr().err
    assert said.count("note: --proposals: ") == 1
    assert said.endswith("; it is tried again every minute\n")
