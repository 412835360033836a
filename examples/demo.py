"""The main job on the embedded cluster, with a broker that dies in the middle of it: plan, apply, drift.

Run it with `make demo`. Every command is shown as a person would type it, with its exit code; waiting costs nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
FAULT = "kill 4 at 3s for 60s"
SIMULATED = ("--simulated", "cluster.json")
STORY: Sequence[tuple[str, tuple[str, ...], int]] = (
    (
        "What has to be done for it, saved for a colleague to review (exit 2: there are changes):",
        ("plan", *SIMULATED, "-o", "plan.json"),
        2,
    ),
    (
        "Exactly that is performed. Broker 4 dies in the middle of its copy; orders-0 waits for it:",
        ("apply", "plan.json", *SIMULATED, "--fault", FAULT),
        0,
    ),
    ("Everything is where it was declared:", ("drift", *SIMULATED), 0),
)


def main() -> None:
    """Tell the story."""
    os.environ.setdefault("PYTHONPATH", str(HERE.parent / "cli"))
    with tempfile.TemporaryDirectory(prefix="replan-demo-") as name:
        folder = Path(name)
        for file in ("cluster.json", "placement.yaml"):
            shutil.copy(HERE / "demo" / file, folder / file)
        say("What is declared, for a cluster of five brokers:")
        show("cat placement.yaml", (folder / "placement.yaml").read_text())
        for text, arguments, wanted in STORY:
            say(text)
            replan(folder, arguments, wanted)


def say(text: str) -> None:
    """Tell what comes next."""
    sys.stdout.write(f"\n# {text}\n")


def show(command: str, output: str) -> None:
    """A command as a person types it, and what it prints."""
    sys.stdout.write(f"$ {command}\n{output}")
    sys.stdout.flush()


def replan(folder: Path, arguments: Sequence[str], wanted: int) -> None:
    """Run a command, show it, and check that it ends as announced."""
    done = subprocess.run(  # noqa: S603 - the words above
        [sys.executable, "-m", "replan", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    typed = " ".join(f'"{word}"' if " " in word else word for word in ("replan", *arguments))
    show(typed, f"{done.stdout}(exit {done.returncode})\n")
    if done.returncode != wanted:
        sys.exit(f"the demo expected exit {wanted}")


if __name__ == "__main__":
    main()
