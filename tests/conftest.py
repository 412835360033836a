"""For every test: how hard Hypothesis tries, no network where none is meant, which worker takes it (`workers`)."""

import gc
import importlib
import pkgutil
import signal
import sys
import threading
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from tests import profiles
from tests.workers import Workers, sort

import replan
from replan.commands.api import SIGNALS

HERE = Path(__file__).parent
NETWORKED_FOLDERS = tuple(HERE / name for name in ("kafka", "fleet", "observing", "browser"))
NETWORKED_MARKS = ("kafka", "spark")
NETWORK_EVENTS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
pytest_plugins = ["tests.kafka.clusters"]
GATE = pytest.StashKey["NetworkGate"]()

profiles.load()


class NetworkGate:
    """An audit hook that refuses sockets in the main thread while a test without network runs."""

    closed = False

    def __call__(self, event: str, _arguments: Iterable[object]) -> None:
        if self.closed and event in NETWORK_EVENTS and _in_main_thread():
            raise RuntimeError(
                f"{event}: this test has no network; mark it `kafka` or `spark` if it needs one"
            )


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _networked(item: pytest.Item) -> bool:
    in_folder = any(item.path.is_relative_to(folder) for folder in NETWORKED_FOLDERS)
    return in_folder or any(item.get_closest_marker(mark) for mark in NETWORKED_MARKS)


def pytest_configure(config: pytest.Config) -> None:
    for (
        number
    ) in SIGNALS:  # a script's job in the background ignores ^C, and what it starts would, too
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    gc.disable()  # collecting makes much that stays, and no garbage: a third of its time
    config.stash[GATE] = NetworkGate()
    sys.addaudithook(config.stash[GATE])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Ours for `--dist loadscope`, xdist's for the rest."""
    return Workers(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests once they are shuffled."""
    if config.getoption("loadscopereorder", default=True) is False:
        sort(items)


def _import_the_product() -> None:
    """Import every module of it, so that Hypothesis draws the same examples each time.

    It draws among the constants of the modules that are imported by then, which is another set in each worker.
    """
    for module in pkgutil.walk_packages(replan.__path__, "replan."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def pytest_collection_finish(session: pytest.Session) -> None:
    drawn = (getattr(i, "obj", None) for i in session.items)
    if profiles.PROFILE != "fast" and any(getattr(o, "is_hypothesis_test", False) for o in drawn):
        _import_the_product()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    seed = item.config.getoption("--hypothesis-seed")
    if report.failed and seed is not None:
        report.sections.append(("to draw it again", profiles.again(item.nodeid, seed)))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Close the gate for the test itself; fixtures that outlive it are let alone."""
    gate = item.config.stash[GATE]
    gate.closed = not _networked(item)
    try:
        return (yield)
    finally:
        gate.closed = False
