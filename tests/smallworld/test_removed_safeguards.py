"""A small world alone finds what was once found by people: with the safeguard against it taken away, a law is broken.

Where two safeguards keep from the same harm, both are taken away. That nothing is found while they are there is what
`test_small_world` holds.
"""

from pathlib import Path

import pytest
from tests.mutations.safeguards import SAFEGUARDS, SMALL_WORLD
from tests.mutations.test_safeguards import copied, fails, take_away

FOUND = {
    "a list that is asked for again passes no gate, and committed records are lost": (
        "unclean election",
        ("a list that adds replicas passes the gates also when it is asked for again",),
    ),
    "a replica that leaves the ISR for one look is blamed on another tool": (
        "throttled",
        ("an entry that replan takes out itself was not removed by another tool",),
    ),
    "a late list of an application overwrites what the next one asks for": (
        "two plans",
        (
            "a partition is done only when no earlier list of it may arrive any more",
            "an application stays while one of its lists may still arrive",
        ),
    ),
    "a broker that lags makes a partition end as taken back": (
        "brokers lag behind a new order",
        (
            "what brokers show ends a partition only after it was shown for longer than metadata lag",
        ),
    ),
}
"""What was found, the world that finds it, and the safeguards."""


@pytest.mark.nightly
@pytest.mark.parametrize("harm", FOUND)
def test_a_small_world_finds_it(harm: str, tmp_path: Path) -> None:
    world, names = FOUND[harm]
    copied(tmp_path)
    for name in names:
        take_away(next(s for s in SAFEGUARDS if s.name == name), tmp_path)
    assert fails(f"{SMALL_WORLD}[{world}, 4.3]", tmp_path)
