"""The Java that Spark runs on: where it is, whether it is new enough, and its archive of loaded classes.

Spark spends most of a short run loading classes. An archive of them (application class-data sharing, JEP 350)
halves that. It fits one build of Java and one installation of Spark, so it is kept in a cache folder under a name
made of both. Making it takes some ten seconds, therefore only the second run does: where the cache does not outlive a
run, as in most CI jobs, nobody pays for an archive that nobody uses. Without Java's `release` file there is none.
"""

import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from msgspec import Struct

from replan.errors import ReplanError

OLDEST = 17
LEFT_SECONDS = 3600
"""An unfinished archive that nobody has written to for so long belongs to no run."""


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
        for line in self.release.splitlines():
            key, _, value = line.partition("=")
            if key == "JAVA_VERSION":
                first, *rest = value.strip('"').split(".")
                number = rest[0] if first == "1" and rest else first
                return int(number) if number.isdecimal() else None
        return None


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
        found = shutil.which("java", path=environment.get("PATH", ""))
        if found is None:
            raise ReplanError(
                f"no Java found: the fleet commands run on Spark, which needs Java {OLDEST} or newer; "
                "install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME"
            )
        binary = Path(found)
    java = _described(binary.resolve().parents[1])
    if java.version is not None and java.version < OLDEST:
        raise ReplanError(
            f"the Java in {java.home} is version {java.version}; Spark needs {OLDEST} or newer: "
            "set JAVA_HOME to one"
        )
    return java


def _described(home: Path) -> Java:
    try:
        return Java(home, (home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return Java(home, "")


class ClassArchive(Struct, frozen=True):
    """An archive of loaded classes, which may not be there yet."""

    file: Path
    being_made: Path
    """Where this run writes it; a name of its own, since several may run at once."""

    @property
    def run_before(self) -> Path:
        """An empty file that says that the cache has outlived a run."""
        return self.file.with_suffix(".seen")

    def options(self) -> tuple[str, ...]:
        """What to tell Java: use it, make it when it exits, or nothing yet."""
        if self.file.exists():
            return (f"-XX:SharedArchiveFile={self.file}", "-Xshare:auto")
        if self.is_being_made:
            return (f"-XX:ArchiveClassesAtExit={self.being_made}",)
        return ()

    @property
    def is_being_made(self) -> bool:
        """Whether this run makes it."""
        return self.run_before.exists() and not self.file.exists()

    def give_up(self) -> None:
        """Java was ended before it had written it: the next run does not try that, the one after it does."""
        self.being_made.unlink(missing_ok=True)
        self.run_before.unlink(missing_ok=True)

    def keep(self) -> None:
        """Put what this run has made in its place, once Java has ended; what killed runs left is removed."""
        self.run_before.touch()
        if self.being_made.exists():
            self.being_made.replace(self.file)
        for left in self.file.parent.glob(".spark-*.jsa"):
            if left.stat().st_mtime < self.run_before.stat().st_mtime - LEFT_SECONDS:
                left.unlink()


def class_archive(
    java: Java, spark_version: str, jars: Path, environment: Mapping[str, str]
) -> ClassArchive | None:
    """The archive for this Java and this Spark with its folder of jars; None where there can be none."""
    if not java.release:
        return None
    folder = cache_folder(environment)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    build = sha256(f"{java.home}\n{java.release}\n{jars}\n{_installed(jars)}".encode()).hexdigest()[
        :12
    ]
    name = f"spark-{spark_version}-java-{build}"
    return ClassArchive(folder / f"{name}.jsa", folder / f".{name}.{token_hex(4)}.jsa")


def _installed(jars: Path) -> int:
    """When the jars came there: Java refuses an archive of others, even of the same release."""
    return jars.stat().st_mtime_ns if jars.is_dir() else 0


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where caches of this program live (XDG base directories)."""
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "replan"
