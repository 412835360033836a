"""This package as a zip, for Spark executors on other machines, which do not have it.

What it depends on (docs/fleet.md, "Where Spark runs") is too large to send: it must be installed there.
"""

from pathlib import Path
from zipfile import ZipFile

import replan
from replan.placement_file.schemas import directory


def package_folder() -> Path:
    """Where this package is imported from."""
    return Path(replan.__file__).parent


def zip_package(folder: Path) -> str:
    """Write the package there, with its schemas where an installed one has them; the path of the zip."""
    target = folder / "replan.zip"
    package = package_folder()
    with ZipFile(target, "w") as archive:
        for file in sorted(package.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                archive.write(file, file.relative_to(package.parent))
        there = set(archive.namelist())
        for schema in sorted(directory().iterdir(), key=lambda s: s.name):
            name = f"{package.name}/schema/{schema.name}"
            if name not in there:  # a checkout keeps them beside the package
                archive.writestr(name, schema.read_bytes())
    return str(target)
