"""Two processes whose wall clocks are hours apart do what two with the right time do; it is only written down."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.profiles import by_profile
from tests.unit.applying.lab import Boundary, Killed, Lab
from tests.unit.applying.three_moves import three_moves

from replan.applying.api import Application
from replan.errors import Exit

pytestmark = pytest.mark.slow


def noon_and(hours: int) -> Callable[[], str]:
    """A wall clock."""
    return lambda: f"2026-01-01T{12 + hours:02}:00:00Z"


def begun_and_resumed(effect: int, first: int, second: int) -> tuple[Lab, list[str]]:
    """One process is killed at an effect, another goes on: all that crossed their boundaries."""
    made = three_moves()
    killed, resumed = Boundary(kill_before=effect), Boundary()
    made.settings = replace(made.settings, moment=noon_and(first))
    with pytest.raises(Killed):
        made.apply(boundary=killed)
    made.settings = replace(made.settings, moment=noon_and(second))
    assert made.apply(boundary=resumed).exit_code is Exit.OK
    return made, [*killed.log, *resumed.log]


@pytest.mark.parametrize(
    ("first", "second"), [(1, -1), pytest.param(-1, 1, marks=pytest.mark.nightly)]
)
def test_wall_clocks_an_hour_off_change_nothing(first: int, second: int) -> None:
    counting = Boundary()
    three_moves().apply(boundary=counting)
    for effect in range(2, counting.crossings + 1, by_profile(fast=5, ci=3, full=1, nightly=1)):
        right, wanted = begun_and_resumed(effect, 0, 0)
        made, done = begun_and_resumed(effect, first, second)
        assert done == wanted, effect
        assert made.clock.now() == right.clock.now()
        assert made.configs() == right.configs()
        (application,) = (r for r in made.journal.read() if isinstance(r, Application))
        moments = (application.opened_at, application.ended_at)
        assert moments == (noon_and(first)(), noon_and(second)())
