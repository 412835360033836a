"""The Java that Spark runs on: where it is, whether it is new enough, and its archive of loaded classes.

Spark spends most of a short run loading classes. An archive of them (application class-data sharing, JEP 350)
halves that. It fits one build of Java and one installation of Spark, so it is kept in a cache folder under a name
made of both. Making it takes some ten seconds, therefore only the second run does: where the cache does not outlive a
run, as in most CI jobs, nobody pays for an archive that nobody uses. Without Java's `release` file there is none.
"""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from replan.documents.files import replace_file
from replan.errors import ReplanError

OLDEST = 17


def alone(master: str) -> bool:
    """Whether a master means this one process."""
    return master == "local" or master.startswith("local[")


class Java(Struct, frozen=True):
    """One installation of Java."""

    home: Path
    release: str
    """What its `release` file says; empty where it has none."""

    @property
    def version(self) -> int | None:
        """Its feature version, such as 17; None where it does not say."""
        match = re.search(r'^JAVA_VERSION="?(?:1\.)?(\d+)', self.release, re.MULTILINE)
        return match and int(match[1])


def find_java(environment: Mapping[str, str]) -> Java:
    """The Java that Spark will start: JAVA_HOME, else the one on PATH; raises ReplanError."""
    home = environment.get("JAVA_HOME")
    if home:
        binary = Path(home, "bin", "java")
        if not binary.is_file():
            raise ReplanError(
                f"JAVA_HOME is {home}, but there is no bin/java in it; "
                f"set it to a Java {OLDEST} or newer"
            )
    else:
        path = shutil.which("java", path=environment.get("PATH", ""))
        if path is None:
            raise ReplanError(
                f"no Java found: the fleet commands run on Spark, which needs Java {OLDEST} or newer; "
                "install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME"
            )
        binary = Path(path)
    folder, said = binary.resolve().parents[1], ""
    with suppress(OSError):
        said = (folder / "release").read_text(encoding="utf-8", errors="replace")
    java = Java(folder, said)
    if java.version is not None and java.version < OLDEST:
        raise ReplanError(
            f"the Java in {java.home} is version {java.version}; Spark needs {OLDEST} or newer: "
            "set JAVA_HOME to one"
        )
    return java


def class_archive(
    java: Java, spark_version: str, jars: Path, environment: Mapping[str, str]
) -> Path | None:
    """Where the archive for this Java and this Spark is, or will be; None where there can be none."""
    base = environment.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "replan"
    # Java refuses an archive of other jars, even of the same release.
    installed = jars.stat().st_mtime_ns if jars.is_dir() else 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not java.release or not os.access(folder, os.W_OK):
        return None
    build = sha256(f"{java.home}\n{java.release}\n{jars}\n{installed}".encode())
    return folder / f"spark-{spark_version}-java-{build.hexdigest()[:12]}.jsa"


def archive_options(archive: Path, made: Path) -> tuple[str, ...]:
    """What to tell Java: use the archive, make it in a file of this run when it exits, or nothing yet."""
    if archive.exists():
        return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto")
    return (f"-XX:ArchiveClassesAtExit={made}",) if _run_before(archive).exists() else ()


def keep_archive(archive: Path, made: Path, *, ended: bool) -> None:
    """Put what this run has made in its place, once Java has ended.

    Where Java was ended before it had written it, the next run does not try that, the one after it does.
    """
    if not ended:
        _run_before(archive).unlink(missing_ok=True)
        return
    _run_before(archive).touch()
    if made.exists():
        replace_file(archive, lambda partial: partial.write_bytes(made.read_bytes()))


def _run_before(archive: Path) -> Path:
    """An empty file that says that the cache has outlived a run."""
    return archive.with_suffix(".seen")
