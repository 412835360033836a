"""A folder with an embedded cluster, in which tests run commands within their own process."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from replan.main import run
from replan.model.api import PartitionState
from replan.simulator.api import open_simulated

EXAMPLE = Path(__file__).parents[2] / "examples" / "demo"


class Shell:
    """Runs commands in a folder, which becomes the current one; its cluster is that of the demo, or `document`."""

    def __init__(
        self,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        document: Mapping[str, object] | None = None,
    ) -> None:
        self.folder, self._capsys = folder, capsys
        self.cluster, self.placement = folder / "cluster.json", folder / "placement.yaml"
        if document is None:
            shutil.copy(EXAMPLE / "cluster.json", self.cluster)
        else:
            self.cluster.write_text(json.dumps(document))

    def ended(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a command."""
        code = run([str(a) for a in arguments])
        return code, *self._capsys.readouterr()

    def run(self, *arguments: object, wanted: int = 0) -> tuple[str, str]:
        """Stdout and stderr of a command."""
        code, out, err = self.ended(*arguments)
        assert code == wanted, err
        return out, err

    def on_cluster(self, *arguments: object, wanted: int = 0) -> tuple[str, str]:
        """The same on the embedded cluster."""
        return self.run(*arguments, "--simulated", self.cluster, wanted=wanted)

    def states(self) -> list[PartitionState]:
        """The partitions of the embedded cluster."""
        plane = open_simulated(self.cluster)
        try:
            seen = plane.observe()
        finally:
            plane.close()
        return list(seen.states(range(seen.partitions.num_rows)))
