"""One Spark session, started so that nobody has to set anything up and nobody sees Spark's own chatter.

Belongs here: settings and their reasons. Does not belong here: what runs in the session (`stages`).
Whatever Spark and Java print goes to a file that is shown only if the start fails.
"""

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyspark
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import replan
from replan.documents.files import work_folder
from replan.errors import ReplanError
from replan.fleet.lake.store import SUBMITTED
from replan.fleet.spark.java import (
    alone,
    archive_options,
    class_archive,
    find_java,
    keep_archive,
)
from replan.placement_file.schemas import directory
from replan.wording import first_line

EXIT_SECONDS = 60
"""How long Java may take to end; a run may write the class archive then, some 10 s."""
SERVER_ANSWER_SECONDS = 10
"""How long a Spark Connect server may take to answer at all."""
NOTICED_SECONDS = 5
"""So long after its connections a process may end."""
LINES_SHOWN = 10
SPARK = Path(pyspark.__file__).parent
MADE = "classes.jsa"
"""Where Java writes the archive of its classes, in the folder of the run."""
ENDED = "its Java process ended while it started"
ASKED = re.compile("An error occurred while calling ")
RAISED = re.compile(r"^Traceback .*\n(?:[ \t].*\n)+(?:replan\.errors\.\w+: )?(.+)", re.MULTILINE)
CALL = re.compile(r"\s+at |\s+\.\.\. \d+ more")

TASK_TRIES = 3
"""How often Spark begins a task on this machine; the last time only says that it was lost (`on_spark`)."""


WORKER_LOST = "Python worker exited unexpectedly"
"""What Spark says where a worker dies that it asks itself, as for the partitions of a source: it asks no second one."""


class ProcessLost(ReplanError):
    """A process of Spark's has ended by itself: what it had to do may be done again, in a new session."""


class JavaNotStarted(ProcessLost):
    """Java has ended while it started, so it had nothing to do yet."""


@contextmanager
def spark_session(master: str, remote: str | None = None) -> Iterator[SparkSession]:
    """A session on this master, ended with its Java process; raises ReplanError where Spark fails."""
    # Py4J tells the root logger of each signal, which would write that to stderr.
    logging.getLogger().addHandler(logging.NullHandler())
    if remote is not None or SUBMITTED in os.environ:
        with _submitted() if remote is None else _connected(remote) as spark:
            yield spark
        return
    java = find_java(os.environ)
    here = alone(master)
    archive = class_archive(java, pyspark.__version__, SPARK / "jars", os.environ) if here else None
    with work_folder(Path(tempfile.gettempdir()), "replan-spark-") as home:
        settings = _settings(master, home)
        if here:
            settings |= _settings_in_one_process(home, archive)
        with _started(settings, home / "spark.log", _variables(master), archive) as spark:
            if not here:
                spark.sparkContext.addPyFile(zip_package(home))
            yield spark


@contextmanager
def _submitted() -> Iterator[SparkSession]:
    """The session of `spark-submit`, which has started Java, says the master and ends both."""
    spark = SparkSession.builder.appName("replan fleet").getOrCreate()
    with tempfile.TemporaryDirectory(prefix="replan-spark-") as folder:
        spark.sparkContext.addPyFile(zip_package(Path(folder)))
        try:
            yield spark
        except (PySparkException, Py4JError) as problem:
            if _interrupted(problem):
                raise KeyboardInterrupt from problem
            raise ReplanError(f"Spark failed: {said_by(problem)}") from problem
        finally:
            spark.stop()


@contextmanager
def _connected(remote: str) -> Iterator[SparkSession]:
    """A session on a Spark Connect server, which has the package sent to its workers."""
    # By this variable, which its builder sets and nobody takes away, PySpark's functions know whom they are for.
    with (
        tempfile.TemporaryDirectory(prefix="replan-spark-") as folder,
        _environment({"SPARK_CONNECT_MODE_ENABLED": "1"}),
    ):
        try:
            _await_server(remote)
            spark = SparkSession.builder.remote(remote).getOrCreate()
            spark.addArtifacts(zip_package(Path(folder)), pyfile=True)
        except Exception as problem:  # gRPC's own errors among others
            raise ReplanError(
                f"Spark Connect at {remote} cannot be used: {first_line(problem)}; is the server there, "
                f"and of this release of Spark ({pyspark.__version__})?"
            ) from problem
        try:
            yield spark
        except PySparkException as problem:
            raise ReplanError(f"Spark at {remote} failed: {said_by(problem)}") from problem
        finally:
            spark.stop()


def _await_server(remote: str) -> None:
    """Raise TimeoutError where no server answers, and PySparkException where that is no address.

    PySpark itself would go on asking for ten minutes.
    """
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(remote).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(SERVER_ANSWER_SECONDS)
        except grpc.FutureTimeoutError:
            raise TimeoutError(f"no answer within {SERVER_ANSWER_SECONDS} s") from None


def _retrying(master: str) -> str:
    """A master of one process that does a lost task again; Spark itself would do that on a cluster alone."""
    if not alone(master) or "," in master:
        return master
    threads = "1" if master == "local" else master.removeprefix("local[").removesuffix("]")
    return f"local[{threads},{TASK_TRIES}]"


def _settings(master: str, home: Path) -> dict[str, str]:
    return {
        "spark.master": _retrying(master),
        "spark.app.name": "replan fleet",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }


def _settings_in_one_process(home: Path, archive: Path | None) -> dict[str, str]:
    """Everything in one Java process on this machine, reached over loopback only."""
    # The first compiler and the plain collector start at once; what others save is for rows, of which Java has few.
    options = [f"-Djava.io.tmpdir={home}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    if archive is not None:
        options += archive_options(archive, home / MADE)
    return {
        "spark.ui.enabled": "false",  # it would take a port, and time at the start
        "spark.driver.memory": "2g",
        "spark.local.dir": str(
            home / "local"
        ),  # by default a folder that a killed Java leaves behind
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.sql.shuffle.partitions": "16",
        # Workers import this very package, wherever it runs from.
        "spark.executorEnv.PYTHONPATH": str(package_folder().parent),
        "spark.python.daemon.module": "replan.fleet.spark.daemon",
        # Generating and compiling code costs more than it saves: no rows of size pass through Java.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }


def _variables(master: str) -> dict[str, str]:
    """What Spark reads from the environment alone."""
    if not alone(master):
        return {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    return {
        # Workers run `python3` from PATH unless told otherwise, which may lack pyarrow.
        "PYSPARK_PYTHON": sys.executable,
        # Without it Spark looks for an address of this host and warns if it finds loopback.
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Another Spark that is installed here has jars of another version.
        "SPARK_HOME": str(SPARK),
        # The Java that only puts together the command line of the other.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


@contextmanager
def _started(
    settings: Mapping[str, str],
    log: Path,
    variables: Mapping[str, str],
    archive: Path | None,
) -> Iterator[SparkSession]:
    """Java and a session in it; both are ended, and nothing of them stays in this process."""
    conf = pyspark.SparkConf(loadDefaults=False).setAll(list(settings.items()))
    interrupted = signal.getsignal(signal.SIGINT)
    with log.open("wb") as output, _environment(variables):
        try:
            with _temporary_files_in(log.parent):
                gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
        except (PySparkException, Py4JError, ConnectionError) as problem:
            raise JavaNotStarted(_failed("cannot start", ENDED, settings, log)) from problem
        except OSError as problem:
            raise ReplanError(_failed("cannot start", said_by(problem), settings, log)) from problem
        try:
            context = pyspark.SparkContext(conf=conf, gateway=gateway)
            # Where Java is killed, this would write a traceback: what that means is said by whoever asks Java next.
            context._accumulatorServer.handle_error = lambda *_: None
            # The context has put its own, which asks Java in the middle of another question.
            signal.signal(signal.SIGINT, interrupted)
            try:
                yield _session(context)
            except KeyboardInterrupt:
                gateway.proc.kill()  # an answer of it may be half read: nothing can be asked any more
                context._jsc = None
                raise
            except (Py4JNetworkError, ConnectionError) as problem:
                context._jsc = None  # nobody is there to be asked
                if _interrupted(problem):
                    gateway.proc.kill()
                    raise KeyboardInterrupt from problem
                raise
            finally:
                context.stop()
        except (PySparkException, Py4JError, ConnectionError) as problem:
            if (how := _ended_by_itself(gateway, problem)) is not None:
                raise ProcessLost(
                    f"Spark's Java process (pid {gateway.proc.pid}) ended {how}"
                ) from problem
            if WORKER_LOST in str(problem):
                raise ProcessLost("a Python worker that Spark's driver asks was lost") from problem
            raise ReplanError(_failed("failed", said_by(problem), settings, log)) from problem
        finally:
            ended = _end_java(gateway)
            if archive is not None:
                keep_archive(archive, log.with_name(MADE), ended=ended)


def _session(context: pyspark.SparkContext) -> SparkSession:
    """A session without extensions: Spark's MLlib is one, and takes a second of CPU to say so.

    Java looks for them where the class loader of its thread does, here where only Java's own classes are.
    """
    spark, java = context._jvm.org.apache.spark.sql.classic.SparkSession, context._jvm.java.lang
    builder, platform = spark.builder(), java.ClassLoader.getPlatformClassLoader()
    thread = java.Thread.currentThread()
    loader = thread.getContextClassLoader()
    thread.setContextClassLoader(platform)
    try:
        made = builder.getOrCreate()
    finally:
        thread.setContextClassLoader(loader)
    return SparkSession(context, made)


def _interrupted(problem: BaseException | None) -> bool:
    """Whether it comes of PySpark's last words to Java, while a signal ended what it did."""
    return problem is not None and (
        isinstance(problem, KeyboardInterrupt) or _interrupted(problem.__context__)
    )


def _ended_by_itself(gateway: Any, problem: Exception) -> str | None:
    """How Java has ended although nobody asked it to; None where it runs on."""
    unreachable = isinstance(problem, Py4JNetworkError | ConnectionError)
    try:
        code = gateway.proc.wait(NOTICED_SECONDS if unreachable else 0)
    except subprocess.TimeoutExpired:
        return None
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _end_java(gateway: Any) -> bool:
    """Whether Java ended by itself, as it does when its standard input ends, and wrote what it had to."""
    gateway.shutdown()
    # PySpark would go on using them, although they lead nowhere now.
    pyspark.SparkContext._gateway = None
    pyspark.SparkContext._jvm = None
    pyspark.SparkContext._active_spark_context = None
    with suppress(BrokenPipeError):
        gateway.proc.stdin.close()
    try:
        gateway.proc.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
        return False
    return True


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """PySpark makes a folder for its first word to Java, which would stay where this process is killed."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _failed(what: str, why: str, settings: Mapping[str, str], log: Path) -> str:
    """What is said of a failure: its reason, and the end of Spark's own words, calls left out."""
    words = log.read_text(encoding="utf-8", errors="replace").splitlines()
    last = [line for line in words if line.strip() and not CALL.match(line)]
    return f"Spark {what} on master {settings['spark.master']}: {why}\nIt said last:\n" + "\n".join(
        f"  {line}" for line in last[-LINES_SHOWN:]
    )


def said_by(problem: Exception) -> str:
    """What Spark says of a failure in one line."""
    words = str(problem)
    raised = RAISED.search(words)  # in a Python worker: the line after its calls
    lines = (
        line.strip().removeprefix(": ") for line in (raised[1] if raised else words).splitlines()
    )
    return next((line for line in lines if line and not ASKED.match(line)), type(problem).__name__)


def package_folder() -> Path:
    """Where this package is imported from."""
    return Path(replan.__file__).parent


def zip_package(folder: Path) -> str:
    """Write the package there for executors elsewhere, with its schemas where an installed one has them; the zip.

    What it depends on (docs/fleet.md, "Where Spark runs") is too large to send: it must be installed there.
    """
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
