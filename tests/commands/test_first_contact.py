"""From nothing to a first plan: `init`, `doctor`, `export --comments`; and where nobody watches."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from tests.ci.github import ROOT
from tests.commandline import replan

from replan.main import run

DEMO = ROOT / "examples" / "demo"


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return Path(shutil.copy(DEMO / "cluster.json", tmp_path / "cluster.json"))


def test_from_an_empty_folder_to_a_plan_that_changes_nothing(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "placements"
    reach = ["--simulated", str(cluster)]
    assert run(["init", str(folder), "--forge", "github", *reach]) == 0
    written = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert written == {
        "placement.yaml",
        "placement.v1.json",
        ".vscode/settings.json",
        ".github/workflows/replan-plan.yml",
        ".github/workflows/replan-apply.yml",
        ".github/workflows/replan-drift.yml",
    }
    said = capsys.readouterr().err
    assert "next: edit placement.yaml" in said
    text = (folder / "placement.yaml").read_text()
    assert "# Brokers in rack a: 1, 4" in text
    assert run(["plan", "-f", str(folder / "placement.yaml"), *reach]) == 0
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith(("# ", "#   ")) else line
        for line in text.partition("every key, and editors complete them.\n#\n")[2].splitlines()
    )
    assert set(yaml.safe_load(uncommented)) == {
        "preferredLeaders",
        "blacklists",
        "throttles",
        "limits",
    }
    assert run(["init", str(folder), *reach]) == 1
    assert "already there" in capsys.readouterr().err
    assert run(["init", str(folder), "--force", *reach]) == 0


def test_rules_plan_nothing_until_a_broker_is_drained(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, reach = tmp_path / "placements", ["--simulated", str(cluster)]
    assert run(["init", str(folder), "--rules", *reach]) == 0
    path = folder / "placement.yaml"
    assert "partitions:" not in path.read_text().partition("\n# What else")[0]
    assert run(["plan", "-f", str(path), *reach]) == 0
    path.write_text(path.read_text() + "blacklists: {replicas: [{broker: 4, reason: gone}]}\n")
    capsys.readouterr()
    assert run(["plan", "-f", str(path), *reach]) == 2
    assert "-4" in capsys.readouterr().out


def test_the_sections_that_are_commented_out_are_valid(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "placement.yaml"
    assert run(["export", "--comments", "-o", str(path), "--simulated", str(cluster)]) == 0
    before, _, after = path.read_text().partition("every key, and editors complete them.\n#\n")
    body = "\n".join(line.removeprefix("# ") for line in after.splitlines())
    path.write_text(f"{before}\n{body}\n")
    assert run(["validate", "-f", str(path)]) == 0, capsys.readouterr().err


def checks(capsys: pytest.CaptureFixture[str], cluster: Path, wanted: int) -> dict[str, str]:
    assert run(["doctor", "--format", "json", "--simulated", str(cluster)]) == wanted
    found = json.loads(capsys.readouterr().out)["checks"]
    return {check["check"]: check["level"] for check in found}


def test_a_healthy_cluster_is_ready(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(checks(capsys, cluster, 0).values()) == {"ok"}
    assert run(["doctor", "--simulated", str(cluster)]) == 0
    assert capsys.readouterr().out.endswith("\nEverything is ready.\n")


def test_what_is_wrong_or_worth_a_look_is_named(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(cluster.read_text())
    document["brokers"][2]["fenced"] = True
    document["topics"][0]["uncleanLeaderElection"] = True
    document["topics"][0]["partitions"][1] |= {"isr": [1], "leader": 1}
    document["features"]["eligibleLeaderReplicas"] = False
    cluster.write_text(json.dumps(document))
    found = checks(capsys, cluster, 2)
    assert {kind for kind, level in found.items() if level == "wrong"} == {
        "brokers",
        "under-min-isr",
        "at-min-isr",
    }
    assert {kind for kind, level in found.items() if level == "look"} == {
        "unclean-election",
        "eligible-leaders",
    }
    assert run(["doctor", "--simulated", str(cluster), "--exit-zero"]) == 0
    text = capsys.readouterr().out
    assert "1 partition under min ISR: writes with acks=all fail (orders-1)" in text
    assert "orders-1" in text


def test_why_a_journal_cannot_be_read_is_said(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.with_name("cluster.json.journal").write_text("something else\n")
    assert run(["doctor", "--simulated", str(cluster)]) == 2
    said = next(line for line in capsys.readouterr().out.splitlines() if " journal " in line)
    assert "1 journal that cannot be read (" in said
    assert "cluster.json.journal:1: damaged journal" in said
    assert "more" not in said


@pytest.mark.parametrize("reach", ["--simulated", "--snapshot"])
@pytest.mark.parametrize(
    ("moves", "key", "wanted"),
    [
        (False, "leader.replication.throttled.rate", 2),
        (True, "leader.replication.throttled.rate", 0),
        (False, "replica.alter.log.dirs.io.max.bytes.per.second", 2),
        (True, "replica.alter.log.dirs.io.max.bytes.per.second", 2),
    ],
)
def test_a_throttle_is_left_behind_for_doctor_where_it_is_for_drift(
    cluster: Path,
    capsys: pytest.CaptureFixture[str],
    reach: str,
    key: str,
    wanted: int,
    *,
    moves: bool,
) -> None:
    document = json.loads(cluster.read_text())
    document["brokers"][0] |= {
        "configs": {key: {"value": "1000000"}},
        "logDirs": [{"path": "/data", "logs": 4}],
    }
    if moves:
        document["topics"][0]["partitions"][0] |= {
            "replicas": [1, 2, 3, 4],
            "adding": [4],
            "isr": [1, 2, 3],
        }
    cluster.write_text(json.dumps(document))
    placement = cluster.parent / "placement.yaml"
    placement.write_text("version: 1\nassignments: {}\n")
    run(["drift", "-f", str(placement), "--format", "json", reach, str(cluster)])
    drift = json.loads(capsys.readouterr().out)["differences"]
    assert len([d for d in drift if d["class"] == "stale-throttle"]) == bool(wanted)
    assert run(["doctor", "--format", "json", reach, str(cluster)]) == (2 if moves else wanted)
    said = json.loads(capsys.readouterr().out)["checks"]
    (check,) = (c for c in said if c["check"] == "throttles")
    assert (check["level"], check["count"]) == (("look", 1) if wanted else ("ok", 0))


@pytest.mark.command
@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "20"}])
def test_without_colour_or_room_nothing_is_coloured_or_lost(
    cluster: Path, more: dict[str, str]
) -> None:
    folder = cluster.parent
    shutil.copy(DEMO / "placement.yaml", folder)
    plain = replan("plan", "--simulated", "cluster.json", folder=folder)
    shown = replan("plan", "--simulated", "cluster.json", folder=folder, **more)
    assert shown.stdout == plain.stdout
    assert "\x1b" not in shown.stdout + shown.stderr
    helped = replan("plan", "--help", folder=folder, **more)
    assert "\x1b" not in helped.stdout
    assert "--max-size" in helped.stdout


@pytest.mark.command
@pytest.mark.parametrize(
    ("words", "offered"),
    [("replan pl", "plan"), ("replan throttle cl", "clear"), ("replan plan --max-s", "--max-size")],
)
def test_a_shell_completes_commands_and_options(words: str, offered: str, tmp_path: Path) -> None:
    completing = {
        "_REPLAN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = replan(folder=tmp_path, **completing)
    assert offered in done.stdout.split(), done.stderr
