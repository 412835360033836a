"""The main job on the embedded cluster: plan, apply, drift, and what happens when somebody else moves a replica.

Run it with `make demo`. Every command is shown as a person would type it, with its exit code.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def replan(folder: Path, *arguments: str, wanted: int) -> None:
    """Show a command, run it, and check that it ends as announced."""
    sys.stdout.write(f"\n$ replan {' '.join(arguments)}\n")
    sys.stdout.flush()
    done = subprocess.run([sys.executable, "-m", "replan", *arguments], cwd=folder, check=False)  # noqa: S603
    sys.stdout.write(f"(exit {done.returncode})\n")
    if done.returncode != wanted:
        sys.exit(f"the demo expected exit {wanted}")


def say(text: str) -> None:
    """Tell what comes next."""
    sys.stdout.write(f"\n# {text}\n")
    sys.stdout.flush()


def somebody_else_moves(cluster: Path) -> None:
    """Do what another tool would do: give orders-1 another replica list."""
    document = json.loads(cluster.read_text())
    orders = next(t for t in document["topics"] if t["name"] == "orders")
    orders["partitions"][1].update(replicas=[3, 2], isr=[3, 2], leader=3)
    cluster.write_text(json.dumps(document, indent=1))


def main() -> None:
    """Tell the story."""
    os.environ.setdefault("PYTHONPATH", str(HERE.parent / "cli"))
    with tempfile.TemporaryDirectory(prefix="replan-demo-") as name:
        folder = Path(name)
        for file in ("cluster.json", "placement.yaml"):
            shutil.copy(HERE / "demo" / file, folder / file)
        say("What is declared:")
        sys.stdout.write((folder / "placement.yaml").read_text())
        say("What has to be done for it, saved as a plan that a colleague can review:")
        replan(folder, "plan", "--simulated", "cluster.json", "-o", "plan.json", wanted=2)
        say("Exactly that is performed; kill it anywhere, run it again, and it goes on:")
        apply = ("apply", "plan.json", "--simulated", "cluster.json", "--auto-approve")
        replan(folder, *apply, wanted=0)
        say("Nothing is left to do, and nothing has drifted:")
        replan(folder, "plan", "--simulated", "cluster.json", wanted=0)
        replan(folder, "drift", "--simulated", "cluster.json", wanted=0)
        say("Another tool moves a replica of orders-1. Drift names it:")
        somebody_else_moves(folder / "cluster.json")
        replan(folder, "drift", "--simulated", "cluster.json", wanted=2)
        say("The plan of before is stale now, and is refused by name:")
        replan(folder, *apply, wanted=3)


if __name__ == "__main__":
    main()
