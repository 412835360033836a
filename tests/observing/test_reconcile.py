"""`replan reconcile` as a process: exit codes of one round, a dry run, a server, a signal."""

import json
import shutil
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.commandline import checked, replan, start

pytestmark = pytest.mark.command
DEMO = Path(__file__).parents[2] / "examples" / "demo"
ALL = "reconcile: {putRight: {placementChanged: 0s, changedElsewhere: 0s}}\n"
TO = ("--simulated", "cluster.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The demo's cluster, and a placement that is as it is."""
    shutil.copy(DEMO / "cluster.json", tmp_path)
    checked("export", *TO, "-o", "placement.yaml", folder=tmp_path)
    return tmp_path


def change(folder: Path, policy: str = ALL) -> None:
    """The placement of the demo, which moves something."""
    (folder / "placement.yaml").write_text((DEMO / "placement.yaml").read_text() + policy)


def test_without_a_policy_it_reports_and_proposes(folder: Path) -> None:
    checked("reconcile", "--once", *TO, folder=folder)
    change(folder, policy="")
    before = (folder / "cluster.json").read_bytes()
    done = checked("reconcile", "--once", "--proposals", "out", *TO, folder=folder, wanted=2)
    assert "4 × the placement was changed" in done.stderr
    assert (folder / "cluster.json").read_bytes() == before
    assert (folder / "out" / "proposal.md").is_file()
    checked("apply", "out/plan.json", *TO, folder=folder)
    checked("reconcile", "--once", "--proposals", "out", *TO, folder=folder)
    assert list((folder / "out").iterdir()) == []


def test_one_round_whose_proposal_cannot_be_written_is_an_error(folder: Path) -> None:
    """Else a pipeline would take it that nothing is proposed any more; nor is it said that it is tried again."""
    change(folder, policy="")
    (folder / "out" / "proposal.md").mkdir(parents=True)
    done = checked("reconcile", "--once", "--proposals", "out", *TO, folder=folder, wanted=1)
    (said,) = (line for line in done.stderr.splitlines() if "--proposals" in line)
    assert said.startswith("note: --proposals: out/proposal.md: cannot remove")
    assert "tried again" not in said


@pytest.mark.parametrize("option", ["--ref", "--path"])
def test_what_names_a_place_in_a_repository_goes_with_one(folder: Path, option: str) -> None:
    """Otherwise another placement would be what the cluster is kept as."""
    done = replan("reconcile", "--once", option, "payments", *TO, folder=folder)
    assert (done.returncode, done.stderr) == (1, "replan: --ref and --path go with --git\n")


def test_a_balance_by_rates_reads_them_again_each_round(folder: Path) -> None:
    (folder / "placement.yaml").write_text(
        """version: 1
assignments:
  orders: {replicationFactor: 3, spread: rack}
  clicks: {replicationFactor: 3}
balance: {leaders: 10%, by: bytesIn}
reconcile: {putRight: {outOfBalance: 0s}}
"""
    )
    words = ("reconcile", "--once", "--rates", "rates.json", *TO)
    missing = checked(*words, folder=folder, wanted=1)
    assert "rates.json" in missing.stderr
    write_rates(folder, {"orders": (5, 5, 5), "clicks": (5, 5)})
    checked(*words, folder=folder)
    before = (folder / "cluster.json").read_bytes()
    checked(*words, folder=folder)
    assert (folder / "cluster.json").read_bytes() == before
    write_rates(folder, {"orders": (500, 5, 500), "clicks": (5, 500)})
    moved = checked(*words, folder=folder)
    assert "round 2 done" in moved.stderr


def write_rates(folder: Path, rates: dict[str, tuple[int, ...]]) -> None:
    """What producers write to each partition, in megabytes a second."""
    topics = {
        topic: {str(number): rate * 1_000_000 for number, rate in enumerate(of)}
        for topic, of in rates.items()
    }
    document = {"formatVersion": 1, "kind": "replan.rates", "topics": topics}
    (folder / "rates.json").write_text(json.dumps(document))


def test_a_placement_that_is_wrong_is_a_state(folder: Path) -> None:
    (folder / "placement.yaml").write_text("version: 1\nassignment: {}\n")
    done = checked("reconcile", "--once", *TO, folder=folder, wanted=1)
    assert "placement broken. " in done.stderr
    assert "placement.yaml:2:1: " in done.stderr


def test_a_cluster_that_does_not_answer_at_the_start_is_a_state_and_an_error_of_one_round(
    folder: Path,
) -> None:
    nobody = ("--bootstrap-server", "127.0.0.1:1", "--timeout", "1s", "--log-format", "json")
    done = checked("reconcile", "--once", *nobody, folder=folder, wanted=1)
    assert "no broker answers" in json.loads(done.stderr)["text"]
    words = ["reconcile", "--every", "1s", "--listen", "127.0.0.1:0", *nobody]
    loop = start(words, folder=folder)
    assert loop.stderr is not None
    try:
        url = json.loads(loop.stderr.readline())["url"]
        said = json.loads(loop.stderr.readline())
        assert (said["event"], said["state"]) == ("state", "unreachable")
        assert "no broker answers" in said["text"]
        status = json.loads(asked(f"{url}status.json"))
        assert (status["state"], status["everySeconds"]) == ("unreachable", 1)
        assert asked(f"{url}healthz")
        assert not asked(f"{url}readyz")
    finally:
        loop.send_signal(signal.SIGTERM)
        loop.communicate(timeout=60)
    assert loop.returncode == 130


def test_a_loop_serves_its_page_is_seen_by_status_and_ends_by_a_signal(folder: Path) -> None:
    words = ["reconcile", "--every", "1s", "--listen", "127.0.0.1:0", "--log-format", "json", *TO]
    loop = start(words, folder=folder)
    assert loop.stderr is not None
    url = json.loads(loop.stderr.readline())["url"]
    try:
        for _ in range(600):
            status = json.loads(asked(f"{url}status.json") or "{}")
            if status.get("state") == "at-rest":
                break
            time.sleep(0.1)
        assert status["state"] == "at-rest"
        assert b"replan reconcile" in asked(url)
        assert asked(f"{url}healthz")
        assert asked(f"{url}readyz")
        shown = checked("status", *TO, folder=folder)
        assert "\nLoop: at rest, since " in shown.stdout
        port = url.rstrip("/").rpartition(":")[2]
        taken = checked("reconcile", "--listen", f"127.0.0.1:{port}", *TO, folder=folder, wanted=1)
        assert f"--listen 127.0.0.1:{port}: cannot listen there: " in taken.stderr
    finally:
        loop.send_signal(signal.SIGTERM)
        _, said = loop.communicate(timeout=60)
    assert loop.returncode == 130, said
    assert "Traceback" not in said


def asked(url: str) -> bytes:
    """What is served; nothing where that is not ready."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - of this machine
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError:
        return b""
