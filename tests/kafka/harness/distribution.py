"""One version of Kafka as the harness runs it: its jars, and our small Java mains, compiled.

Jars come through Maven, by the pom.xml beside this file; a second call finds them in the cache
and starts neither Maven nor Java. How a node is configured or started is not here.
"""

import os
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kafka.harness.cache import cache_directory, fingerprint, made_once

DEFAULT_VERSION = "4.3.1"
VERSIONS = ("3.9.2", "4.3.1", "4.4.0")

_HERE = Path(__file__).parent
_POM = _HERE / "pom.xml"
_NODES, _POLICY, _TOOLS = (_HERE / f"{name}.java" for name in ("Nodes", "NoThrottles", "Tools"))
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_COPY = f"{_PLUGIN}:copy-dependencies"


class BadDistribution(Exception):
    """Kafka's jars could not be fetched, or our Java mains not compiled; says what to do."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Where the jars and the compiled mains of one Kafka version lie."""

    version: str
    home: Path
    jars: Path
    main: Path

    @property
    def classpath(self) -> str:
        """Sorted and spelled out: a class-data archive fits only the classpath it was made of."""
        return os.pathsep.join([str(self.main), *sorted(map(str, self.jars.glob("*.jar")))])

    @property
    def has_tools(self) -> bool:
        """Whether Kafka's command lines of this version are published."""
        return _has_tools(self.jars)

    @property
    def logging_option(self) -> str:
        """Kafka 3 logs to log4j 1 (reload4j), Kafka 4 to log4j 2."""
        if self.version.startswith("3."):
            return f"-Dlog4j.configuration=file:{_HERE / 'log4j.properties'}"
        return f"-Dlog4j2.configurationFile={_HERE / 'log4j2.properties'}"


def distribution(version: str) -> Distribution:
    """The version's jars and compiled mains, fetched and compiled if they are not in the cache.

    Raises:
        BadDistribution: Maven or javac is missing or failed.
    """
    home = cache_directory() / "kafka" / version
    jars = made_once(
        home / f"jars-{fingerprint(_POM.read_bytes())}", lambda draft: _fetch(version, draft)
    )
    mains = [_NODES, _POLICY, *([_TOOLS] if _has_tools(jars) else [])]
    ingredients = fingerprint(_POM.read_bytes(), *(main.read_bytes() for main in mains))
    main = made_once(home / f"mains-{ingredients}.jar", lambda draft: _compile(mains, jars, draft))
    return Distribution(version, home, jars, main)


def local_tiered_storage(kafka: Distribution) -> Path:
    """The jar with Kafka's own remote storage for tests (LocalTieredStorage), which keeps segments in a folder.

    Raises:
        BadDistribution: Maven is missing or failed.
    """
    artifact = f"org.apache.kafka:kafka-storage:{kafka.version}:jar:test"
    folder = made_once(
        kafka.home / "tiered",
        lambda draft: _run(
            [
                *("mvn", "--batch-mode", "--quiet", f"{_PLUGIN}:copy"),
                *(f"-Dartifact={artifact}", f"-DoutputDirectory={draft}"),
            ],
            f"{artifact} could not be fetched; is there a network, or a mirror in ~/.m2?",
        ),
    )
    [jar] = folder.glob("*.jar")
    return jar


def schema_folder(kafka: Distribution) -> Path:
    """The JSON schemas of Kafka's messages and metadata records, taken out of its jars."""
    return made_once(
        kafka.home / f"schemas-{fingerprint(_POM.read_bytes())}",
        lambda draft: _unpack_schemas(kafka, draft),
    )


def _profiles(version: str) -> str:
    match version:
        case "4.4.0":  # kafka-tools 4.4.0 is not published
            return "log4j2"
        case version if version.startswith("3."):
            return "tools,reload4j"
        case _:
            return "tools,log4j2"


def _fetch(version: str, draft: Path) -> None:
    _run(
        [
            *("mvn", "--batch-mode", "--quiet", "--file", str(_POM)),
            *("--activate-profiles", _profiles(version), f"-Dkafka.version={version}", _COPY),
            *(f"-DoutputDirectory={draft}", "-DincludeScope=runtime"),
        ],
        f"Kafka {version} could not be fetched; is there a network, or a mirror in ~/.m2?",
    )


def _has_tools(jars: Path) -> bool:
    return bool(list(jars.glob("kafka-tools-[0-9]*.jar")))


def _compile(mains: Sequence[Path], jars: Path, draft: Path) -> None:
    classes = draft.with_name("classes")
    _run(
        ["javac", "-cp", f"{jars}/*", "-d", str(classes), *map(str, mains)],
        f"{_NODES.name} could not be compiled; is there a JDK 17 or newer?",
    )
    # A jar, because a class-data archive refuses folders in the class path.
    with zipfile.ZipFile(draft, "w") as jar:
        for compiled in classes.glob("*.class"):
            jar.write(compiled, compiled.name)


def _unpack_schemas(kafka: Distribution, draft: Path) -> None:
    draft.mkdir()
    for jar, folder in (
        ("kafka-clients", "common/message/"),
        ("kafka-metadata", "common/metadata/"),
    ):
        with zipfile.ZipFile(kafka.jars / f"{jar}-{kafka.version}.jar") as archive:
            for name in archive.namelist():
                if name.startswith(folder) and name.endswith(".json"):
                    (draft / Path(name).name).write_bytes(archive.read(name))


def _run(command: Sequence[str], advice: str) -> None:
    if shutil.which(command[0]) is None:
        raise BadDistribution(f"{command[0]} is not installed. {advice}")
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-3000:]
        raise BadDistribution(f"{advice}\n{' '.join(command)}\n{said}")
