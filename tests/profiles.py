"""How hard Hypothesis tries: `HYPOTHESIS_PROFILE` is `ci` (each change; the default), `fast`, `full` or `nightly`.

`full` draws the same cases each time, so that a change fails for what it does; `ci` takes the first tenth of
them, and no fewer than `fast`, which is a taste for the inner loop; `nightly` draws many more, others each day:
`--hypothesis-seed`.
"""

import os
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def by_profile(*, fast: T, ci: T, nightly: T, full: T | None = None) -> T:
    """What holds in this run; in `full` what holds in `ci` unless it is said."""
    return {"fast": fast, "ci": ci, "full": ci if full is None else full, "nightly": nightly}[
        PROFILE
    ]


def count(*, fast: int, full: int, nightly: int) -> int:
    """How many examples there are in this run."""
    return {"fast": fast, "ci": max(fast, full // 10), "full": full, "nightly": nightly}[PROFILE]


def again(name: str, seed: object) -> str:
    """The command that draws again what a test has drawn by this seed."""
    return (
        f"HYPOTHESIS_PROFILE={PROFILE} .venv/bin/python -m pytest --timeout 7200"
        f" --hypothesis-seed {seed} '{name}'"
    )


def load() -> None:
    """Let every property have the examples of this run, unless it says how many it wants (`examples`)."""
    settings.register_profile(
        PROFILE,
        max_examples=by_profile(fast=5, ci=20, full=80, nightly=5000),
        derandomize=PROFILE != "nightly",
        deadline=None,
        suppress_health_check=SLOW,
        print_blob=True,
    )
    settings.load_profile(PROFILE)


def examples(*, fast: int, full: int, nightly: int) -> settings:
    """So many examples for one property."""
    return settings(max_examples=count(fast=fast, full=full, nightly=nightly))
