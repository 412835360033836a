"""What takes long says so, and what does not says nothing."""

from queue import SimpleQueue

from replan.commands.api import said_while_long


def test_what_takes_long_is_said_while_it_does() -> None:
    said: SimpleQueue[str] = SimpleQueue()
    with said_while_long("planning for 9 partitions", said.put, first_seconds=0.01):
        assert said.get(timeout=30) == (
            "planning for 9 partitions goes on; ^C ends it, and nothing has changed"
        )


def test_what_ends_soon_says_nothing_and_an_error_passes() -> None:
    said: SimpleQueue[str] = SimpleQueue()
    for expected in (None, ValueError):
        try:
            with said_while_long("planning", said.put, first_seconds=30.0):
                if expected is not None:
                    raise expected
        except ValueError:
            assert expected is ValueError
    assert said.empty()
