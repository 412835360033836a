"""Every block of the pages is run, read or drawn, or says why not; these are counted."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.ci.forge import commit, git
from tests.docs.pages import TOP
from tests.docs.snippets import PAGES, Block, blocks, every, fences

from replan.fleet.api import read_fleet
from replan.main import run
from replan.placement_file.api import load_placement
from replan.planning.api import digest, loads

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # typer and Click 9
]
DEMO = TOP / "examples" / "demo"
POLICY = TOP / "examples" / "reconcile" / "placement.yaml"
REAL = re.compile(r"--bootstrap-server \S+")
WITHOUT_CLUSTER = {"validate", "show", "diff", "schema", "scenario", "tails"}
NEW = {"README.md", "docs/getting-started.md", "docs/coming-from.md"}
"""Pages that begin without a placement."""
NOT_RUN = 16
"""Blocks that say why they are not run; one more is a decision."""


def test_every_block_is_found_and_has_a_language_that_is_known() -> None:
    assert 2 * len(list(every())) == sum(map(fences, PAGES))
    odd = [
        f"{block}: {block.language or 'no language'}; say what it is, or why it is not run"
        for block in every()
        if block.language not in {"console", "sh", "yaml", "mermaid"} and block.not_run is None
    ]
    assert not odd, "\n".join(odd)


def test_the_blocks_that_are_not_run_are_counted_and_say_what_runs_instead() -> None:
    found = [block for block in every() if block.not_run not in {None, "made from the code"}]
    assert len(found) == NOT_RUN, "\n".join(f"{block}: {block.not_run}" for block in found)
    for block in found:
        for path in re.findall(r"[a-z_./]+\.(?:py|sh|mjs)", block.not_run or ""):
            assert (TOP / path).exists(), f"{block}: there is no {path}"


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_is_a_file_that_is_read(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    found = yaml.safe_load(block.text)
    if "repos" in found:
        jsonschema.validate(found, PRE_COMMIT)
        return
    file.write_text(block.text if "version" in found else f"version: 1\n{block.text}")
    if "clusters" in found:
        assert read_fleet(file).clusters
    else:
        assert load_placement([file]).digest


PRE_COMMIT = {
    "type": "object",
    "required": ["repos"],
    "properties": {
        "repos": {
            "type": "array",
            "items": {
                "required": ["repo", "rev", "hooks"],
                "properties": {"hooks": {"items": {"required": ["id"]}}},
            },
        }
    },
}


def sessions() -> dict[str, list[Block]]:
    """The commands of each page, which are run one after the other in one folder."""
    return {name: list(of) for name, of in groupby(blocks("console", "sh"), lambda b: b.page)}


@pytest.mark.parametrize("name", sessions())
def test_the_commands_of_a_page_run_and_print_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, name)
    for block in sessions()[name]:
        for line, shown in commands(block):
            if name == "docs/getting-started.md" and "-o plan.json" in line:
                edit_as_it_says(tmp_path / "placement.yaml")
            printed = printed_by(line, capsys, block)
            if shown and "REPLAN_REWRITE" in os.environ and "...\n" not in shown:
                text, before = (TOP / name).read_text(), f"$ {line}\n{shown}"
                (TOP / name).write_text(text.replace(before, f"$ {line}\n{printed}"))
            else:
                check(shown, printed, f"{block}: {line}")


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what is shown below it."""
    if block.language == "sh":
        for line in block.text.replace("\\\n", " ").splitlines():
            yield line, ""
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


def prepare(folder: Path, name: str) -> None:
    """The files that the reader has: of the demo; a new folder has the state of the cluster alone."""
    shutil.copy(DEMO / "cluster.json", folder)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    if name in NEW:
        return
    shutil.copy(POLICY if name == "docs/reconcile.md" else DEMO / "placement.yaml", folder)
    if name == "docs/ci.md":
        state = json.loads((folder / "cluster.json").read_text())
        state["observedAt"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        (folder / "cluster.json").write_text(json.dumps(state))
        commit(folder, {"placement.yaml": (DEMO / "placement.yaml").read_text()})
        git("update-ref", "refs/remotes/origin/main", "HEAD", folder=folder)
    if name not in {"docs/demo.md", "docs/reconcile.md"}:
        assert run(["plan", "--simulated", "cluster.json", "-o", str(folder / "plan.json")]) == 2


def printed_by(line: str, capsys: pytest.CaptureFixture[str], block: Block) -> str:
    capsys.readouterr()
    if not line.startswith("replan "):
        done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}: {line}: {done.stderr}"
        return done.stdout
    if "$DIGEST" in line:
        line = line.replace("$DIGEST", digest(loads(Path("plan.json").read_text(), "plan.json")))
    words = shlex.split(REAL.sub("--simulated cluster.json", line), comments=True)
    named = {"--simulated", "--snapshot"} & set(words)
    if not named and words[1] not in WITHOUT_CLUSTER:
        words += ["--simulated", "cluster.json"]
    code = run(words[1:])
    out, err = capsys.readouterr()
    assert code in {0, 2}, f"{block}: {line}: {code}: {err}"
    return out


def check(shown: str, printed: str, where: str) -> None:
    """All that was printed is shown, but for what `...` stands for; nothing is checked where nothing is shown."""
    if not shown:
        return
    parts = [re.escape(part) for part in f"{shown.rstrip()}\n".split("...\n")]
    assert re.fullmatch(r"(?:.*\n)*?".join(parts), f"{printed.rstrip()}\n"), f"{where}\n{printed}"


def edit_as_it_says(path: Path) -> None:
    """Edit the file as step 4 of getting started says."""
    (snippet,) = [b.text for b in blocks("yaml") if b.page == "docs/getting-started.md"]
    listed, throttle = snippet.split("throttles:\n")
    text = path.read_text()
    assert listed.split("partitions:\n")[1].replace("[4, 2, 3]", "[1, 2, 3]") in text
    text = text.replace("      - [1, 2, 3]  # 0", "      - [4, 2, 3]  # 0")
    path.write_text(f"{text}throttles:\n{throttle}")


def test_reasons_are_given_by_page() -> None:
    """Generated pages alone have blocks without a language."""
    made = Counter(b.page for b in every() if b.not_run == "made from the code")
    assert made
    assert all(page.startswith("docs/commands-") for page in made)
