"""Saying what takes long, while it does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from replan.commands.frame.output import note

FIRST_SECONDS = 10.0
EVERY_SECONDS = 60.0


@contextmanager
def said_while_long(
    what: str, say: Callable[[str], None] = note, first_seconds: float = FIRST_SECONDS
) -> Iterator[None]:
    """Say after some seconds, and then each minute, that something goes on which changes nothing."""
    ended = Event()
    speaker = Thread(target=_speak, args=(what, say, first_seconds, ended), daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


def _speak(what: str, say: Callable[[str], None], seconds: float, ended: Event) -> None:
    while not ended.wait(seconds):
        say(f"{what} goes on; ^C ends it, and nothing has changed")
        seconds = EVERY_SECONDS
