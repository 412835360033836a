"""Random faults, drawn from a seed: the same ones for the same plan and seed."""

from collections.abc import Sequence
from random import Random

from replan.faults.kinds import FaultContext
from replan.faults.read import FaultSpec, read_fault
from replan.manifest.sections.units import format_rate
from replan.model.names import BrokerId
from replan.planning.plans.plan import Plan
from replan.simulator.cluster.faults import LoseDisk

BETWEEN_SECONDS = 30.0
"""From the end of one fault to the next: a broker that starts has time to serve, and to catch up."""
SHORTEST_SECONDS = 5.0
"""Within which the first fault is drawn, however quick the plan."""


def drawn_faults(
    seed: int, plan: Plan, horizon_seconds: float, context: FaultContext
) -> tuple[FaultSpec, ...]:
    """One to three faults at brokers of the plan, from within the time that it takes undisturbed.

    At most one broker is away at a time, and it comes back; after a lost disk, whose copies take long, nothing more is
    drawn. Only accidents are drawn: what other tools do is for --fault.
    """
    chance = Random(seed)  # noqa: S311 - a rehearsal is no secret
    brokers = sorted({b for m in plan.moves for b in (*m.original, *m.target)})
    brokers = [b for b in brokers if b in context.cluster.brokers]
    moves = [m for m in plan.moves if context.cluster.partition(m.partition) is not None]
    if not brokers or not moves:
        return ()
    moment, found = 0.0, list[FaultSpec]()
    for _ in range(chance.randint(1, 3)):
        moment += chance.uniform(0, max(SHORTEST_SECONDS, horizon_seconds / 2))
        lagging = f"lag {chance.choice(moves).partition}"
        fault = read_fault(_drawn(chance, brokers, lagging, round(moment)), context)
        found.append(fault)
        moment = fault.schedule[-1].seconds + BETWEEN_SECONDS
        if any(isinstance(at.fault, LoseDisk) for at in fault.schedule):
            break
    return tuple(found)


def _drawn(chance: Random, brokers: Sequence[BrokerId], lagging: str, at: int) -> str:
    broker, away = chance.choice(brokers), chance.choice([30, 120, 600])
    outcome = chance.choice(["with effect", "without effect", "late by 70s"])
    return chance.choice(
        [
            f"kill {broker} at {at}s for {away}s",
            f"kill {broker} at {at}s for {away}s",
            f"stop {broker} at {at}s for {away}s",
            f"lose disk {broker} at {at}s for {away}s",
            f"slow {broker} to {format_rate(5_000_000)} at {at}s for {away}s",
            f"{lagging} broker {broker} by 50MB at {at}s",
            f"unknown outcome of reassign {outcome} at {at}s",
            f"controller moves {outcome} at {at}s",
            f"silence at {at}s for 30s",
            f"metadata 5s behind at {at}s for {away}s",
        ]
    )
