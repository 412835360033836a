"""A wall clock that is wrong, for a process: what Python reads, and what the C client writes into its records."""

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


def off_by(seconds: int, folder: Path) -> dict[str, str]:
    """The environment of a process whose wall clock is so much ahead; needs a C compiler, as `cc`."""
    library = folder / "wall_clock.so"
    if not library.exists():
        build = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(build, check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_OFF": str(seconds)}
