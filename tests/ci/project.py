"""A repository on a forge, and the embedded cluster that its placement is for."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.builders import brokers, snapshot, state
from tests.ci.forge import Forge, commit, git, repository, with_replan
from tests.ci.github import ROOT
from tests.commandline import environment

from replan.snapshots.api import write_snapshot

DEMO = ROOT / "examples" / "demo"
PLACEMENT = (DEMO / "placement.yaml").read_text()


LISTS = [[1, 2, 3], [2, 3, 4], [4, 5, 6]]
BY_LIST = (
    "version: 1\nassignments:\n  orders:\n    partitions:\n"
    + "".join(f"      {n}: {of}   # kept\n" for n, of in enumerate(LISTS))
    + "reconcile: {putRight: {brokerDown: 0s}}\n"
)


class Project:
    """What the pipelines of both forges are run for."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        self.folder, self.forge = folder, forge
        self.cluster = folder / "kafka.json"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = (DEMO / "cluster.json").read_text()
        self.cluster.write_text(text.replace("2026-11-21T03:00:00Z", now))
        self.work = repository(folder, {"placement.yaml": PLACEMENT})
        self.bare = folder / "repository.git"
        path = with_replan(folder / "bin", sys.executable)
        self.environment = environment(PATH=f"{path}{os.pathsep}{os.environ['PATH']}")
        self.reach = {"REPLAN_SIMULATED": str(self.cluster)}
        """What lets a runner reach the cluster."""

    def down(self, *brokers_: int) -> None:
        """The lists of BY_LIST on six brokers, of which these are down."""
        states = [
            state(of, [b for b in of if b not in brokers_], partition=n)
            for n, of in enumerate(LISTS)
        ]
        seen = snapshot(states, registered=brokers(6, "abc", fenced=brokers_))
        write_snapshot(seen, self.cluster)

    def begin_something_else(self) -> None:
        """Leave an application of another placement open, whose copy waits for a broker that is down."""
        (self.work / "other.yaml").write_text(
            "version: 1\nassignments: {orders: {partitions: {0: [1, 2, 5]}}}\n"
        )
        waits = ("--fault", "kill 5 at 0s", "--give-up-after", "5s")
        assert self.replan("apply", "-f", "other.yaml", "--auto-approve", *waits) == 4

    def branch(self, name: str, placement: str) -> None:
        """A branch with another placement."""
        git("switch", "--quiet", "--create", name, folder=self.work)
        commit(self.work, {"placement.yaml": placement})

    def merge(self, name: str) -> None:
        """Merge a branch into main."""
        git("switch", "--quiet", "main", folder=self.work)
        git("merge", "--quiet", name, folder=self.work)
        git("push", "--quiet", "origin", "main", folder=self.work)

    def replan(self, *words: str) -> int:
        """What a command on the cluster exits with."""
        done = subprocess.run(
            ["replan", *words],
            cwd=self.work,
            env={**self.environment, **self.reach},
            capture_output=True,
            check=False,
        )
        return done.returncode

    def published(self) -> str:
        """The kind of what the branch of published states holds."""
        text = git("show", "replan-snapshot:cluster.json", folder=self.bare)
        found: str = json.loads(text)["kind"]
        return found
