"""The commands that change nothing, on the embedded cluster: forms, patterns, existing files, what to type next."""

import json
import shutil
from pathlib import Path

import pytest

from replan.applying.journal.file import FileJournal
from replan.applying.journal.records import Application, ApplicationStatus, SavedRate
from replan.main import run
from replan.model.names import BrokerId

EXAMPLE = Path(__file__).parents[2] / "examples" / "demo"


class Shell:
    """Runs commands on a copy of the demo."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self.placement = folder / "cluster.json", folder / "placement.yaml"
        for path in (self.cluster, self.placement):
            shutil.copy(EXAMPLE / path.name, path)
        self.folder, self._capsys = folder, capsys

    def run(self, *arguments: object, wanted: int = 0) -> tuple[str, str]:
        """Stdout and stderr of a command on the embedded cluster."""
        words = [str(a) for a in (*arguments, "--simulated", self.cluster)]
        assert run(words) == wanted
        return self._capsys.readouterr()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def test_a_topic_that_nobody_has_is_an_error(shell: Shell) -> None:
    _, said = shell.run("status", "--topic", "typo", wanted=1)
    assert said == (
        "replan: cluster MkU3OEVBNTcwNTJENDM2Qg has no topic typo; check the name, or use a pattern such as 'pay*'\n"
    )


def test_the_status_of_some_topics_is_asked_for_by_pattern(shell: Shell) -> None:
    every, _ = shell.run("status", "--format", "json")
    some, _ = shell.run("status", "--format", "json", "--topic", "ord*")
    assert json.loads(some)["partitions"] == 3 < json.loads(every)["partitions"]


def test_status_is_written_as_markdown(shell: Shell) -> None:
    text, _ = shell.run("status", "--format", "markdown")
    assert text.startswith("## replan status\n\n")
    assert "No reassignment is running." in text


def cluster_id(shell: Shell) -> str:
    return str(json.loads(shell.cluster.read_text())["clusterId"])


def test_status_names_the_process_that_applies_or_how_to_resume(shell: Shell) -> None:
    journal = shell.cluster.with_name("cluster.json.journal")
    opened = Application(
        "a-1", ApplicationStatus.OPEN, "d" * 64, "m" * 64, cluster_id(shell), "ann@ops-1"
    )
    with FileJournal(journal, cluster_id(shell)) as held:
        held.append([opened])
        text, _ = shell.run("status")
        assert "application a-1 is running: pid " in text
    text, _ = shell.run("status")
    assert (
        "application a-1 is interrupted; run `replan resume` to go on; begun by ann@ops-1" in text
    )


def test_status_says_how_throttles_are_restored_when_no_application_is_open(shell: Shell) -> None:
    with FileJournal(shell.cluster.with_name("cluster.json.journal"), cluster_id(shell)) as held:
        held.append([SavedRate(BrokerId(4), "leader.replication.throttled.rate", None, ("5",))])
    text, _ = shell.run("status")
    assert (
        "1 throttle setting of replan is active; run `replan throttle clear` to restore it\n"
        in text
    )


def test_a_file_that_is_there_is_overwritten_only_by_force(shell: Shell) -> None:
    before = shell.placement.read_text()
    _, said = shell.run("export", "-o", shell.placement, wanted=1)
    assert said.endswith("exists already; pass --force to overwrite it, or choose another name\n")
    assert shell.placement.read_text() == before
    shell.run("export", "-o", shell.placement, "--force")
    assert shell.placement.read_text() != before


def test_what_a_command_reads_is_not_overwritten_by_its_result(shell: Shell) -> None:
    plan = shell.folder / "plan.json"
    shell.run("plan", "-f", shell.placement, "-o", plan, wanted=2)
    before = {file: file.read_bytes() for file in (shell.cluster, shell.placement, plan)}
    for arguments in (
        ("plan", "-f", shell.placement, "-o", shell.cluster),
        ("plan", "-f", shell.placement, "-o", shell.placement),
        ("snapshot", "-o", shell.cluster),
        ("export", "-o", shell.cluster, "--force"),
        ("rehearse", plan, "-o", plan),
    ):
        _, said = shell.run(*arguments, wanted=1)
        assert said.endswith("would overwrite what is read; choose another name\n")
    assert {file: file.read_bytes() for file in before} == before


def test_a_saved_plan_says_what_to_type_to_apply_it(shell: Shell) -> None:
    plan = shell.folder / "the plan.json"
    _, said = shell.run("plan", "-f", shell.placement, "-o", plan, wanted=2)
    assert said == f"saved; apply it with: replan apply '{plan}' --simulated {shell.cluster}\n"


def test_changes_exit_0_on_demand(shell: Shell) -> None:
    shell.run("plan", "-f", shell.placement, "--exit-zero")
    shell.run("drift", "-f", shell.placement, "--exit-zero")


def test_a_reason_cannot_clear_the_screen(shell: Shell) -> None:
    text = shell.placement.read_text()
    shell.placement.write_text(text.replace("disk at 92 %", '"disk \\e[2J"'))
    shown, _ = shell.run("plan", "-f", shell.placement, wanted=2)
    assert "\x1b" not in shown
    assert "disk \\u001b[2J" in shown


def test_the_name_of_the_cluster_is_shown_with_the_plan(shell: Shell) -> None:
    text = shell.placement.read_text()
    shell.placement.write_text(text.replace("cluster: {", "cluster: {name: payments-eu, "))
    shown, _ = shell.run("plan", "-f", shell.placement, wanted=2)
    assert shown.endswith(", for cluster payments-eu, MkU3OEVBNTcwNTJENDM2Qg.\n")


def test_a_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "placement"]) == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "placement.v1.json"


def test_quiet_and_verbose_contradict_each_other(shell: Shell) -> None:
    _, said = shell.run("resume", "-q", "-v", wanted=1)
    assert said == "replan: --quiet and --verbose contradict each other; pass one of them\n"


@pytest.mark.parametrize("never", ["nan", "inf", "1e400"])
def test_nobody_waits_for_seconds_that_never_end(shell: Shell, never: str) -> None:
    _, said = shell.run("resume", "--settle", never, wanted=1)
    assert said == "replan: --settle: write how many seconds, e.g. 15\n"
