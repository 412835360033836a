"""Hunts for histories that break a law of the loop: `python -m tests.properties.hunt_loop [FROM [TO]]`.

A history for each seed, every fifth one of a single outage. Prints what is broken with its seed, and goes on; at the
end, and after every twenty, what happened how often. `--shrink SEED` leaves out what a finding does not need.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.properties.loop_histories import (
    DAY,
    HOUR,
    History,
    Run,
    Trouble,
    drawn,
    drawn_outage,
    happens,
    with_fewer_events,
)
from tests.properties.loop_laws import broken, copies_too_much

OUTAGES = 5
"""Of so many histories one is of a single outage."""
REPORTED = 20


def history_of(seed: int) -> tuple[History, float | None]:
    """The history of a seed; of an outage, with for how long it lasts."""
    return drawn_outage(seed) if seed % OUTAGES == 0 else (drawn(seed), None)


def findings(history: History, lasts: float | None) -> tuple[list[str], Run | None]:
    """What is broken; an error of the product is a finding, too."""
    try:
        run = happens(history)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported, and the hunt goes on
        return [f"{type(error).__name__}: {error}"], None
    found = [] if lasts is None else list(copies_too_much(run, lasts))
    return [*found, *broken(run)], run


def counted(run: Run) -> Iterator[tuple[str, int]]:
    """What happened in a run, and how often."""
    yield "weeks", round(run.month.seconds / (7 * DAY))
    for event in run.history.events:
        name = type(event).__name__
        if isinstance(event, Trouble):
            name = type(event.fault).__name__
        yield f"event {name}", 1
    yield "process killed", len(run.kills)
    yield "cancelled by a person", len(run.cancels)
    for one in run.month.watched.all_lasted():
        yield f"deviation {one.kind or 'of a person'}", 1
        yield f"put right {one.kind}", int(one.by_round)
    for done in run.month.watched.rounds.values():
        yield f"round {done.result}", 1
        for kind in done.kinds:
            yield f"round of {kind}", 1
    for held in run.month.watched.holds:
        for reason in held.reasons:
            yield f"reason {reason.__struct_config__.tag}", 1
    for before, now in pairwise(run.seen.statuses):
        if before.state is not now.state:
            yield f"state {now.state}", 1


def hunt(first: int, end: int) -> int:
    """Run them; how many broke a law."""
    total, found, began = Counter[str](), 0, time.process_time()
    for seed in range(first, end):
        history, lasts = history_of(seed)
        wrong, run = findings(history, lasts)
        if run is not None:
            for what, times in counted(run):
                total[what] += times
        if wrong:
            found += 1
            print(f"seed {seed}: {len(wrong)} broken, first {wrong[0]}", flush=True)
        if (seed + 1 - first) % REPORTED == 0 or seed + 1 == end:
            seconds = time.process_time() - began
            done = seed + 1 - first
            print(
                f"{done} histories, {found} with findings, {seconds / done:.2f} s of CPU each; "
                + ", ".join(f"{what} {times}" for what, times in sorted(total.items()) if times),
                flush=True,
            )
    return found


def shrink(seed: int) -> None:
    """Leave out events as long as something is broken, and print what is left."""
    history, lasts = history_of(seed)
    wrong, _ = findings(history, lasts)
    smaller = True
    while smaller and wrong:
        smaller = False
        for fewer in with_fewer_events(history):
            if lasts is not None and not fewer.away:
                continue
            left, _ = findings(fewer, lasts)
            if left:
                history, wrong, smaller = fewer, left, True
                break
    print(f"{history}\n{history.hours * HOUR / DAY:.1f} days")
    print("\n".join(wrong) or "nothing is broken")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--shrink", seed]:
            shrink(int(seed))
        case [first, end]:
            sys.exit(1 if hunt(int(first), int(end)) else 0)
        case _:
            sys.exit(1 if hunt(0, 10_000) else 0)
