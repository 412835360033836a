"""How hard Hypothesis tries: `HYPOTHESIS_PROFILE` is `ci` (each change; the default), `fast` or `nightly`.

`ci` draws the same cases each time, so that a change fails for what it does; `fast` is a taste of it for the inner
loop, and `nightly` draws others each time.
"""

import os
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def by_profile(*, fast: T, ci: T, nightly: T) -> T:
    """What holds in this run."""
    return {"fast": fast, "ci": ci, "nightly": nightly}[PROFILE]


def load() -> None:
    """Let every property have the examples of this run, unless it says how many it wants (`examples`)."""
    settings.register_profile(
        PROFILE,
        max_examples=by_profile(fast=5, ci=80, nightly=5000),
        derandomize=PROFILE != "nightly",
        deadline=None,
        suppress_health_check=SLOW,
        print_blob=True,
    )
    settings.load_profile(PROFILE)


def examples(*, fast: int, ci: int, nightly: int) -> settings:
    """So many examples for one property."""
    return settings(max_examples=by_profile(fast=fast, ci=ci, nightly=nightly))
