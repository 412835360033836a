"""Commands in processes of their own that need no start of Python: forks of a server that has imported replan.

To start Python and import what `plan` needs is two thirds of what a usual test of a command costs. A fork has a
folder, an environment, outputs, signals and an exit code of its own; it differs in that every module is there already.

One test worker has one server, which forks one command at a time and ends when the worker does. It has no other
thread: a fork would not have that, but its locks. The worker sends what to run with the two files of its outputs; the
server answers with the process id, then with its wait status.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from typing import BinaryIO

import replan
from replan.__main__ import main as program
from replan.model.api import hide_pandas
from replan.workers import NO_LIBRARY_THREADS

TREE = Path(__file__).parents[1]
LONGEST = 1 << 20
"""Bytes of a request: arguments and environment."""
NUMBER = 8
ONE_AT_A_TIME = threading.Lock()
OF_FLEETS = ("replan.fleet", "replan.commands.fleet")
"""What only fleets import: the server does so when it forks the first of their commands."""
THREADS = Path("/proc/self/task")
"""Of this process, where the kernel lists them."""
OF_SPARK = "replan.fleet.spark"
"""What runs there starts Python."""


def fork(
    arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; what takes longer is killed, and raises `subprocess.TimeoutExpired`."""
    line = json.dumps([list(arguments), str(folder.absolute()), dict(environment)]).encode()
    assert len(line) < LONGEST
    _, server = _started()
    with ONE_AT_A_TIME, TemporaryFile() as out, TemporaryFile() as err:
        socket.send_fds(server, [line], [out.fileno(), err.fileno()])
        pid = _number(server)
        server.settimeout(seconds)
        try:
            status = _number(server)
        except TimeoutError:
            os.kill(pid, SIGKILL)
            server.settimeout(None)
            _number(server)
            raise subprocess.TimeoutExpired(list(arguments), seconds) from None
        finally:
            server.settimeout(None)
        texts = [_text(file) for file in (out, err)]
    return subprocess.CompletedProcess(
        ["replan", *arguments], os.waitstatus_to_exitcode(status), *texts
    )


@cache
def _started() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The server of this process and the connection to it, from the first command on."""
    ours, its = socket.socketpair()
    with its:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forks", str(its.fileno())],
            cwd=TREE,
            env={**os.environ, **NO_LIBRARY_THREADS, "PYTHONPATH": f"{TREE}:{TREE / 'cli'}"},
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
    atexit.register(_end, server, ours)
    return server, ours


def _end(server: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    server.wait()


def _number(connection: socket.socket) -> int:
    digits = connection.recv(NUMBER, socket.MSG_WAITALL)
    if not digits:
        raise EOFError("the server of forked commands has ended")
    return int(digits)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    with TextIOWrapper(
        file, "utf-8"
    ) as text:  # with the newlines of a text, as `subprocess` reads it
        return text.read()


def serve(connection: socket.socket) -> None:
    """Fork commands until the other side is closed."""
    while True:
        line, outputs, _, _ = socket.recv_fds(connection, LONGEST, 2)
        if not line:
            return
        arguments, folder, environment = json.loads(line)
        if "fleet" in arguments:
            _import_fleets()
        pid = os.fork()
        if not pid:
            connection.close()
            _become(outputs, arguments, folder, environment)
        for output in outputs:
            os.close(output)
        for number in (pid, os.waitpid(pid, 0)[1]):
            connection.sendall(b"%*d" % (NUMBER, number))


def _become(
    outputs: Sequence[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    """Be the command, as `python -m replan` is."""
    for number, output in enumerate(outputs, start=1):
        os.dup2(output, number)
        os.close(output)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))  # noqa: SIM115
    sys.argv = ["replan", *arguments]
    gc.enable()
    code: object = 1
    try:
        program()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as Python itself does at the end of a program
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter waits for at its end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _import_the_product() -> None:
    hide_pandas()
    gc.disable()
    _import(name for name in _modules() if not name.startswith(OF_FLEETS))


@cache
def _import_fleets() -> None:
    os.environ["RUST_LOG"] = "off"  # as a lake says before its library is imported
    importlib.import_module("deltalake")
    fleets = (name for name in _modules() if name.startswith(OF_FLEETS))
    _import(name for name in fleets if not name.startswith(OF_SPARK))


def _modules() -> Iterator[str]:
    found = pkgutil.walk_packages(replan.__path__, "replan.", onerror=print)
    return (module.name for module in found if not module.name.endswith("__main__"))


def _import(modules: Iterable[str]) -> None:
    for name in modules:
        importlib.import_module(name)
    assert not THREADS.is_dir() or len([*THREADS.iterdir()]) == 1, "a library started a thread"
    gc.freeze()


if __name__ == "__main__":
    _import_the_product()
    serve(socket.socket(fileno=int(sys.argv[1])))
