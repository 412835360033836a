"""Which Java Spark runs on, and when the archive of its classes is made."""

import os
from pathlib import Path

import pytest

from replan.errors import ReplanError
from replan.fleet.spark.api import Java, archive_options, class_archive, find_java, keep_archive

JARS = Path("/spark/jars")


def installed(home: Path, version: str | None) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(mode=0o755)
    if version is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("written", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("x", None)]
)
def test_the_version_is_read_from_the_release_file(
    tmp_path: Path, written: str, version: int | None
) -> None:
    installed(tmp_path, written)
    assert Java(tmp_path, (tmp_path / "release").read_text()).version == version


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = installed(tmp_path / "a", "17.0.1"), installed(tmp_path / "b", "21")
    assert find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}).home == home
    assert find_java({"PATH": str(other / "bin")}).home == other


def test_a_link_on_the_path_leads_to_the_installation(tmp_path: Path) -> None:
    home = installed(tmp_path / "jdk", None)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}) == Java(home, "")


def test_no_java_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ReplanError) as refused:
        find_java({"PATH": str(tmp_path)})
    assert str(refused.value) == (
        "no Java found: the fleet commands run on Spark, which needs Java 17 or newer; "
        "install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME"
    )


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReplanError) as refused:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert str(refused.value) == (
        f"JAVA_HOME is {tmp_path}, but there is no bin/java in it; set it to a Java 17 or newer"
    )


def test_an_old_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReplanError) as refused:
        find_java({"JAVA_HOME": str(installed(tmp_path, "11.0.2"))})
    assert str(refused.value) == (
        f"the Java in {tmp_path} is version 11; Spark needs 17 or newer: set JAVA_HOME to one"
    )


class Cache:
    """A cache of archives, and what a run writes beside it."""

    def __init__(self, home: Path) -> None:
        self.made = home / "made.jsa"
        environment = {"XDG_CACHE_HOME": str(home)}
        found = class_archive(Java(Path("/jdk"), 'JAVA_VERSION="17"'), "4.1.4", JARS, environment)
        assert found is not None
        self.archive = found

    def run(self, *, ended: bool = True) -> tuple[str, ...]:
        """The options that Java gets; it makes the archive where they say so."""
        given = archive_options(self.archive, self.made)
        if given == (f"-XX:ArchiveClassesAtExit={self.made}",):
            self.made.write_text("classes")
        keep_archive(self.archive, self.made, ended=ended)
        self.made.unlink(missing_ok=True)
        return given


def test_the_archive_is_made_by_the_second_run_and_used_from_the_third_on(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    making = (f"-XX:ArchiveClassesAtExit={cache.made}",)
    using = (f"-XX:SharedArchiveFile={cache.archive}", "-Xshare:auto")
    assert [cache.run() for _ in range(4)] == [(), making, using, using]
    assert cache.archive.read_text() == "classes"
    assert sorted(p.suffix for p in cache.archive.parent.iterdir()) == [".jsa", ".seen"]


def test_an_archive_that_took_too_long_is_not_tried_by_the_next_run(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    given = [bool(cache.run(ended=number != 1)) for number in range(4)]
    assert given == [False, True, False, True]
    assert cache.archive.exists()


def test_another_build_of_java_or_installation_of_spark_has_another_archive(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    found = {
        archive
        for release in ("17.0.1", "17.0.2")
        for spark in ("4.1.4", "4.1.5")
        for jars in (Path("/a/jars"), Path("/b/jars"))
        if (archive := class_archive(Java(Path("/jdk"), release), spark, jars, environment))
    }
    assert len(found) == 8


def test_jars_that_were_installed_again_have_another_archive(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    jars = tmp_path / "jars"
    jars.mkdir()
    given = Java(Path("/jdk"), "17"), "4.1.4", jars, environment
    first = class_archive(*given)
    os.utime(jars, (0, 0))
    assert None not in {first, class_archive(*given)}
    assert first != class_archive(*given)


def test_without_a_release_file_or_a_cache_folder_there_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for release, cache in (("", tmp_path), ("17", tmp_path / "file")):
        environment = {"XDG_CACHE_HOME": str(cache)}
        assert class_archive(Java(Path("/jdk"), release), "4.1.4", JARS, environment) is None
