"""Object stores: what is at an address, and by which settings a store is reached.

The library of the tables reads and writes, by the variables of each store (`AWS_ACCESS_KEY_ID` and so on). What users
of Spark have set for S3 (`spark.hadoop.fs.s3a.*`) counts where the variables say nothing, and what the process that
started a run has set counts for executors that have nothing of their own. None of it is written anywhere.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.fs
from pyarrow.fs import FileSelector, FileType, LocalFileSystem, SubTreeFileSystem

from replan.errors import BadFile, ReplanError

STORE_DOCS = '`replan docs fleet`, "Where"'
ERROR_DECORATION = re.compile(r"\x1b\[[0-9;]*m|↳|^Kernel error -> ")
PASSED_ON = re.compile(
    r"AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|(DEFAULT_)?REGION|ENDPOINT_URL(_S3)?|ALLOW_HTTP"
    r"|CONDITIONAL_PUT|VIRTUAL_HOSTED_STYLE_REQUEST|PROFILE)|AZURE_STORAGE_\w+|GOOGLE_SERVICE_ACCOUNT\w*"
)
"""The variables that executors get, too."""
OF_SPARK = {
    "endpoint": "AWS_ENDPOINT_URL",
    "endpoint.region": "AWS_REGION",
    "access.key": "AWS_ACCESS_KEY_ID",
    "secret.key": "AWS_SECRET_ACCESS_KEY",
    "session.token": "AWS_SESSION_TOKEN",
}
"""What Spark's users set, and the variable that means the same; the last three belong together."""
S3A = "spark.hadoop.fs.s3a."
CREDENTIALS = tuple(OF_SPARK.values())[-3:]
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""What spark-submit sets for the program that it starts: there its Java runs already, and knows its settings."""


def require(what: str, package: str, extra: str = "replan[fleet]") -> None:
    """Raise ReplanError where a package is not installed that something needs."""
    if find_spec(package) is None:
        raise ReplanError(f"{what} needs {package}, which is not installed: pip install '{extra}'")


def in_store(place: object) -> bool:
    """Whether a place is an address in a store, and no path."""
    return "://" in str(place)


def way_out(place: str) -> str:
    """What to look at where a place cannot be read or written."""
    if not in_store(place):
        return ""
    return f"; are its address and the credentials in the environment right? {STORE_DOCS}"


def causes(text: str) -> str:
    """What the library says as one line: what failed, and below it why, each behind an arrow, in colours."""
    parts = (ERROR_DECORATION.sub("", line).strip() for line in text.splitlines())
    return ": ".join(part for part in parts if part)


@lru_cache(maxsize=64)
def file_system(root: str) -> pyarrow.fs.FileSystem:
    """What is below an address or a path, its files named from there."""
    if not in_store(root):
        return SubTreeFileSystem(root, LocalFileSystem())
    from deltalake.fs import DeltaStorageHandler

    return pyarrow.fs.PyFileSystem(DeltaStorageHandler(root))


def files_at(address: str) -> Mapping[str, bytes]:
    """The file at an address of a store, or those right below it, by their addresses; raises BadFile where is none."""
    scheme, _, rest = address.partition("://")
    bucket, _, path = rest.rstrip("/").partition("/")
    root = f"{scheme}://{bucket}"
    try:
        store = file_system(root)
        of_path = store.get_file_info(path)
        inside = (
            [of_path] if of_path.type == FileType.File else store.get_file_info(FileSelector(path))
        )
        files = {
            f"{root}/{info.path}": store.open_input_stream(info.path).read()
            for info in sorted(inside, key=lambda info: info.path)
            if info.type == FileType.File and not info.base_name.startswith(".")
        }
    except (OSError, pa.ArrowException, ValueError) as problem:
        raise BadFile(f"{address}: {causes(str(problem))}{way_out(address)}") from problem
    if not files:
        raise BadFile(f"{address}: there is no such file, and no file below it; check the address")
    return files


@contextmanager
def local_copy(place: str) -> Iterator[Path]:
    """A file or folder at a path, or a copy of what a store has, as long as it is asked for; raises BadFile."""
    if not in_store(place):
        yield Path(place)
        return
    files = files_at(place)
    address = place.rstrip("/")
    with TemporaryDirectory(prefix="replan-") as home:
        copy = Path(home, address.rpartition("/")[2])
        if address not in files:
            copy.mkdir()
        for name, content in files.items():
            target = copy if name == address else copy / name.rpartition("/")[2]
            target.write_bytes(content)
        try:
            yield copy
        except ReplanError as problem:
            raise BadFile(str(problem).replace(str(copy), address)) from problem


def store_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of stores, for executors that have none of their own."""
    return {name: value for name, value in environment.items() if PASSED_ON.fullmatch(name)}


def set_store_variables(variables: Mapping[str, str]) -> None:
    """Set what this process's environment does not say; of credentials all or nothing."""
    has_own = any(name in os.environ for name in (*CREDENTIALS, "AWS_PROFILE"))
    for name, value in variables.items():
        if not (has_own and name in CREDENTIALS):
            os.environ.setdefault(name, value)


@cache
def prepare() -> None:
    """Take what Spark's own settings say of S3: of `spark-submit` or `spark-defaults.conf`; and a profile."""
    set_store_variables(from_spark(_spark_settings(os.environ)))
    if "AWS_PROFILE" in os.environ and CREDENTIALS[0] not in os.environ:
        os.environ.setdefault(
            "AWS_FORCE_CREDENTIAL_LOAD", "true"
        )  # else not where an endpoint is set


def from_spark(spark: Mapping[str, str]) -> dict[str, str]:
    """The variables that mean what Spark's settings say of S3."""
    named = {key.removeprefix(S3A): value for key, value in spark.items() if key.startswith(S3A)}
    variables = {OF_SPARK[key]: value for key, value in named.items() if key in OF_SPARK and value}
    endpoint = variables.get("AWS_ENDPOINT_URL")
    if endpoint is not None:
        plain = named.get("connection.ssl.enabled", "true").lower() == "false"
        if not in_store(endpoint):
            endpoint = variables["AWS_ENDPOINT_URL"] = f"http{'' if plain else 's'}://{endpoint}"
        if endpoint.startswith("http://"):
            variables["AWS_ALLOW_HTTP"] = "true"
    return variables


def _spark_settings(environment: Mapping[str, str]) -> Mapping[str, str]:
    if SUBMITTED in environment:
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    file = Path(folder or "", "spark-defaults.conf")
    if not folder or not file.is_file():
        return {}
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (re.split(r"\s*[\s=:]\s*", line.strip(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
