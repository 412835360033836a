"""What each broker should hold of the partitions that are placed by rule: its share.

Each set of brokers has a share of its own: what one rule places is shared by weight among the candidates of that rule,
and the shares of all rules are added. Where a rule spreads over racks, a rack has what the rule gives it, and its
brokers share that. A broker that gets nothing new (fenced, cordoned) keeps what it has, and the others share the rest:
a new one counts once it takes something. How far from its share a broker may be, say `goals`.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from replan.model.columns import Flags, Ints, Matrix
from replan.planning.placing.positions import amounts
from replan.planning.placing.problem import Layout, PlacementProblem, Rule


def shares(
    problem: PlacementProblem, rows: Ints, lists: Matrix, units: Ints, takes: Flags
) -> list[Fraction]:
    """The share of each broker that takes something, 0 of the others, which keep what they have.

    `lists`: of these rows; `units`: what one replica of each counts.
    """
    brokers = problem.brokers
    by_broker = [Fraction(0)] * len(brokers.ids)
    for number, rule in enumerate(problem.rules):
        mine = problem.partitions.rule[rows] == number
        if rule.layout is Layout.LISTED or not mine.any():
            continue
        factor = problem.partitions.factor[rows][mine]
        held = amounts(lists[mine], units[mine], len(brokers.ids))
        for some, total in _parts(problem, rule, factor, units[mine], held, takes):
            among = [b for b in some if takes[b]]
            rest = total - int(sum(held[b] for b in some if not takes[b]))
            most = int(units[mine].sum())
            weights = [int(brokers.weight[b]) for b in among]
            for broker, part in zip(
                among, shared_out(rest, weights, [most] * len(among)), strict=True
            ):
                by_broker[broker] += part
    return by_broker


def _parts(
    problem: PlacementProblem, rule: Rule, factor: Ints, units: Ints, held: Ints, takes: Flags
) -> Iterable[tuple[list[int], Fraction]]:
    """Brokers that share something together, and what."""
    brokers = problem.brokers
    candidates = np.flatnonzero(rule.candidates)
    if rule.layout is Layout.NONE:
        return [(candidates.tolist(), Fraction(int((units * factor).sum())))]
    racks = np.unique(brokers.rack[candidates])
    of = [candidates[brokers.rack[candidates] == rack].tolist() for rack in racks]
    if rule.layout is Layout.IN_RACK:
        return [(some, Fraction(int(held[some].sum()))) for some in of]
    if rule.layout is Layout.PER_RACK:
        every = int(units.sum())
        wanted = [rule.per_rack[rack] for rack in racks.tolist()]
        return [(some, Fraction(every * n)) for some, n in zip(of, wanted, strict=True)]
    each = int((units * (factor // len(racks))).sum())
    extra = int((units * (factor % len(racks))).sum())
    once = int(units[factor % len(racks) > 0].sum())
    stays = [int(sum(held[b] for b in some if not takes[b])) for some in of]
    weights = [sum(int(brokers.weight[b]) for b in some if takes[b]) for some in of]
    levels = shared_out(extra, weights, [once] * len(of), [each - s for s in stays])
    return [(some, each + more) for some, more in zip(of, levels, strict=True)]


def shared_out(
    total: int | Fraction,
    weights: Sequence[int],
    most: Sequence[int | Fraction],
    base: Sequence[int] = (),
) -> list[Fraction]:
    """A total in parts, none over its most, so that base and part together are as even by weight as they can be."""
    base = base or [0] * len(weights)
    parts = [Fraction(0)] * len(weights)
    rest = Fraction(total)
    every = [i for i, weight in enumerate(weights) if weight and most[i] > 0]
    sharing = every
    while sharing and rest > 0:
        level = (rest + sum(base[i] for i in sharing)) / sum(weights[i] for i in sharing)
        part = {i: level * weights[i] - base[i] for i in sharing}
        under = [i for i in sharing if part[i] < 0]
        over = [i for i in sharing if part[i] > most[i]]
        if under:  # who has more than the others together come to gets nothing
            sharing = [i for i in sharing if i not in under]
            continue
        for i in over or sharing:
            parts[i] = min(part[i], Fraction(most[i]))
            rest -= parts[i]
        every = [i for i in every if i not in over] if over else []
        sharing = every  # where some are full, those that have more may get something as well
    return parts
