"""What a person gets to read when something is wrong: one clear message, exit code 1, never a traceback."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from tests.commandline import checked

pytestmark = pytest.mark.command
CLUSTER = {
    "formatVersion": 1,
    "kind": "replan.snapshot",
    "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
    "observedAt": "2026-11-21T03:00:00Z",
    "brokers": [{"id": i} for i in range(1, 6)],
    "topics": [{"name": "orders", "minInsyncReplicas": 2, "partitions": [{"replicas": [1, 2, 3]}]}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))
    return tmp_path


def complaint(folder: Path, placement: str | bytes, *flags: str) -> str:
    """What `plan` says of a placement file, without the program's name."""
    text = placement.encode() if isinstance(placement, str) else placement
    (folder / "placement.yaml").write_bytes(text)
    done = checked("plan", *(flags or ("--snapshot", "cluster.json")), folder=folder, wanted=1)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.removeprefix("replan: ").rstrip("\n")


ONE = "version: 1\nassignments:\n  orders:\n    partitions: {0: %s}\n"


def test_an_unknown_broker_is_named_with_its_place(folder: Path) -> None:
    assert complaint(folder, ONE % "[1, 2, 9]") == (
        "placement.yaml:4:21: orders-0: broker 9 is not registered in the cluster; registered: 1-5"
    )


def test_no_cluster_named_shows_the_ways(folder: Path) -> None:
    (folder / "placement.yaml").write_text(ONE % "[1, 2, 3]")
    done = checked("plan", folder=folder, wanted=1)
    assert done.stderr == (
        "replan: name exactly one cluster: --bootstrap-server HOST:PORT (a real one; or set "
        "REPLAN_BOOTSTRAP_SERVER), --simulated FILE (the embedded one), --snapshot FILE (read only), "
        "or --cluster NAME (of a fleet file)\n"
    )


def test_a_cluster_that_does_not_answer_is_reported_within_the_bootstrap_time(folder: Path) -> None:
    address = "127.0.0.1:1"  # tcpmux: nobody listens there
    said = complaint(folder, ONE % "[1, 2, 3]", "--bootstrap-server", address)
    assert address in said


@pytest.mark.parametrize("arguments", [("plan", "--nope"), ("frobnicate",), ("show",)])
def test_wrong_usage_exits_1_because_2_means_changes(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    done = checked(*arguments, folder=folder, wanted=1)
    assert "Usage: replan" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--measure", "99999999999999d"), "too long; write at most 36500d"),
        (("plan", "--measure", f"{'9' * 400}s"), "too long; write at most 36500d"),
        (("rehearse", "plan.json", "--runs", "9" * 30), "is not in the range"),
        (("fleet", "watch", "--trigger", "nan"), "--trigger: write how many seconds, e.g. 60"),
        (("fleet", "watch", "--trigger", "inf"), "--trigger: write how many seconds, e.g. 60"),
        (("fleet", "maintain", "--lake", "s3a://"), "s3a:/snapshots: "),
        (("lock", "show", "--journal", "file:."), ".: cannot read the journal: Is a directory"),
        (("lock", "show", "--journal", "file:/dev/null"), "/dev/null: is no regular file"),
    ],
    ids=lambda what: " ".join(word[:20] for word in what) if isinstance(what, tuple) else "",
)
def test_what_an_option_cannot_be_is_refused(
    folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    cluster = () if arguments[0] == "fleet" else ("--simulated", "cluster.json")
    done = checked(*arguments, *cluster, folder=folder, wanted=1)
    assert done.stdout == ""
    assert said in done.stderr


def test_a_plan_file_that_is_none_is_named(folder: Path) -> None:
    done = checked("show", "cluster.json", folder=folder, wanted=1)
    assert done.stderr == (
        "replan: cluster.json: not a plan (no `kind: replan.plan`); make one with `replan plan -o`\n"
    )


def test_a_plan_that_was_edited_and_given_a_new_digest_is_refused_by_the_law(
    folder: Path,
) -> None:
    (folder / "placement.yaml").write_text(ONE % "[4, 2, 3]")
    checked("plan", "--snapshot", "cluster.json", "-o", "p.json", folder=folder, wanted=2)
    edited = (folder / "p.json").read_text().replace('"target": [4, 2, 3]', '"target": [4]')
    body = re.sub(r',\n"digest": ".*"\n}\n$', "\n}\n", edited)
    digest = hashlib.sha256(body.encode()).hexdigest()
    (folder / "p.json").write_text(body[:-3] + f',\n"digest": "{digest}"\n}}\n')
    before = (folder / "cluster.json").read_text()
    for command in (["apply"], ["show"], ["rehearse"]):
        flags = [] if command == ["show"] else ["--simulated", "cluster.json"]
        done = checked(*command, "p.json", *flags, folder=folder, wanted=3)
        assert "orders-0: target [4] is shorter than min.insync.replicas 2" in done.stderr
        assert "target-below-min-isr" in done.stderr
    assert (folder / "cluster.json").read_text() == before
