"""Replicas of brokers within the tolerance of their shares, by number, bytes or load, of what is placed by rule.

A balance is aimed at (`goals`); how near it comes, an `Imbalance` says. Room on disks is searched for with it: where
bytes are balanced, within the bounds of both; else for its own sake, after all that is balanced. Where the policy
empties disks above a share, a balance fills none above it, as far as that can be.
"""

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints, Matrix
from replan.model.declared.rules import BalanceMeasure, Tolerance
from replan.planning.placing.flow import all_within
from replan.planning.placing.goals import Aim, Goal, Search, TopMost, fit, no_bounds
from replan.planning.placing.packing import BrokerTotals
from replan.planning.placing.positions import Positions, amounts, arranged, resulting_lists
from replan.planning.placing.problem import (
    NO_LIMIT,
    NO_RACK,
    Imbalance,
    Impossible,
    Layout,
    Obstacle,
    PlacementProblem,
)
from replan.planning.placing.shares import shares
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.steps import ReplicaSteps, Way


class Balanced(Struct, frozen=True):
    """What is in the way."""

    impossible: tuple[Impossible, ...] = ()
    imbalances: tuple[Imbalance, ...] = ()


def balance(problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags) -> Balanced:
    """Change `lists`, as ids, of the partitions that are placed by rule.

    Replicas go only where something is out of bounds, so that what is balanced stays as it is.
    """
    rows = placed_by_rule(problem, placed)
    limited = bool((problem.brokers.room < NO_LIMIT).any())
    tolerances = [tolerance for tolerance in problem.balance if not tolerance.measure.of_leaders]
    if not len(rows) or not (tolerances or limited):
        return Balanced()
    mine, base = at.find(lists[rows]), at.find(problem.partitions.current[rows])
    before = mine.copy()
    room = _room(problem, at, lists, rows, problem.brokers.room) if limited else None
    below = room
    if limited and problem.brokers.below is not None:
        below = _room(problem, at, lists, rows, problem.brokers.below)
    elsewhere = _others(problem, at, lists, rows)
    goals = [
        _most_replicas(problem, rows, mine, tolerance, elsewhere)
        if tolerance.measure is BalanceMeasure.MAX_REPLICAS
        else _goal(problem, rows, mine, tolerance, below)
        for tolerance in tolerances
    ]
    balanced = Balanced()
    if not _is_balanced(problem, rows, mine, goals, room):
        spread = TopicSpread(problem, at, rows, lists)
        steps = ReplicaSteps(problem, at, rows, mine, base, spread)
        balanced = _run(problem, steps, goals, room, below)
    rack = at.numbers(problem.brokers.rack, NO_RACK).tolist()
    for row in np.flatnonzero((mine != before).any(axis=1)).tolist():
        had = [b for b in base[row].tolist() if b >= 0]
        stays = {b for b in mine[row].tolist() if b >= 0}
        order = arranged(had, sorted(stays.difference(had)), stays, rack)
        lists[rows[row], : len(order)] = at.ids[order]
    return balanced


def placed_by_rule(problem: PlacementProblem, placed: Flags) -> Ints:
    """The rows that a rule places, and that have a placement."""
    return np.flatnonzero(~problem.listed & placed)


def every_candidate(problem: PlacementProblem) -> Flags:
    """The candidates of all rules together."""
    candidates = np.zeros(len(problem.brokers.ids), dtype=bool)
    for rule in problem.rules:
        if rule.layout is not Layout.LISTED:
            candidates |= rule.candidates
    return candidates


def units_of(problem: PlacementProblem, rows: Ints, measure: BalanceMeasure) -> Ints:
    """What one replica, or one leadership, of each partition counts."""
    match measure:
        case BalanceMeasure.BYTES | BalanceMeasure.LEADERS_BY_BYTES:
            return problem.partitions.bytes[rows]
        case BalanceMeasure.BYTES_IN | BalanceMeasure.LEADERS_BY_BYTES_IN:
            return problem.rates[rows]
        case BalanceMeasure.BYTES_OUT:
            return problem.rates[rows] * (problem.partitions.factor[rows] - 1)
        case _:
            return np.ones(len(rows), dtype=np.int64)


def _goal(
    problem: PlacementProblem, rows: Ints, mine: Matrix, tolerance: Tolerance, room: Ints | None
) -> Goal:
    units = units_of(problem, rows, tolerance.measure)
    every = every_candidate(problem)
    opens = every & problem.brokers.open
    of = [shares(problem, rows, mine, units, takes) for takes in (opens, every)]
    has = amounts(mine, units, len(every))
    most = room if tolerance.measure is BalanceMeasure.BYTES else None
    return Goal(tolerance, units, Aim.at(of, tolerance.within, has, opens), most)


def _most_replicas(
    problem: PlacementProblem, rows: Ints, mine: Matrix, tolerance: Tolerance, elsewhere: Ints
) -> Goal:
    """That no broker holds more than so many replicas, `elsewhere` included: those that no rule places."""
    count, opens = len(elsewhere), every_candidate(problem) & problem.brokers.open
    units = np.ones(len(rows), dtype=np.int64)
    has = amounts(mine, units, count)
    aim = TopMost(int(tolerance.within), elsewhere, ~opens, has)
    return Goal(tolerance, units, aim)


def _others(problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints) -> Ints:
    """The replicas on each broker that are not placed by these rows."""
    others, beside = _beside(problem, at, lists, rows)
    replicas: Ints = problem.brokers.replicas + amounts(
        beside, np.ones(len(others), np.int64), at.count
    )
    return replicas


def _beside(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints
) -> tuple[Ints, Matrix]:
    """The other rows, and on which registered brokers each lies."""
    others = np.setdiff1d(np.arange(len(lists)), rows)
    positions = at.find(resulting_lists(problem, lists, others))
    return others, np.where(positions < at.count, positions, -1).astype(np.int32)


def _is_balanced(
    problem: PlacementProblem, rows: Ints, mine: Matrix, goals: list[Goal], room: Ints | None
) -> bool:
    count, size = len(problem.brokers.ids), problem.partitions.bytes[rows]
    fits = room is None or all_within(amounts(mine, size, count), fit(no_bounds(count), room))
    alone = (isinstance(g.aim, TopMost) and (g.aim.elsewhere > g.aim.most).any() for g in goals)
    even = all(all_within(amounts(mine, g.units, count), g.bounds) for g in goals)
    return fits and even and not any(alone)


def _run(
    problem: PlacementProblem,
    steps: ReplicaSteps,
    goals: list[Goal],
    room: Ints | None,
    below: Ints | None,
) -> Balanced:
    """All goals, then room on disks; without a balance of bytes that is all or nothing.

    `below`: what each broker may hold before the policy empties it again; as near as may be.
    """
    search, size, mine = Search(steps, problem.budget, problem.brokers.ids), steps.size, steps.lists
    imbalances = search.run(goals)
    if goals and below is not None and below is not room:
        kept = [search.held(goal) for goal in goals]
        search.pack(size, fit(no_bounds(steps.brokers), below), kept, [Way.ONE_EACH, Way.MORE])
    used = amounts(mine, size, steps.brokers)
    if room is None or (used <= room).all():
        return Balanced((), tuple(imbalances))
    if any(goal.most is not None for goal in goals):
        missing = Impossible(Obstacle.ROOM_NOT_FOUND, needed=search.spent)
        return Balanced((missing,), tuple(imbalances))
    bounds = fit(no_bounds(steps.brokers), room)
    proved = _no_room(problem, steps, bounds.most)
    if proved:
        return Balanced(tuple(proved), tuple(imbalances))
    before, spent = mine.copy(), search.spent
    held: list[BrokerTotals] = [search.held(goal) for goal in goals]
    if search.pack(size, bounds, held, [Way.ONE_EACH, Way.MORE, Way.CROWDED]):
        return Balanced((), tuple(imbalances))
    mine[:] = before  # each move without room is refused by itself
    missing = Impossible(Obstacle.ROOM_NOT_FOUND, needed=search.spent - spent)
    return Balanced((missing,), tuple(imbalances))


def _no_room(problem: PlacementProblem, steps: ReplicaSteps, most: Ints) -> list[Impossible]:
    """The proof that the disks cannot hold all of it, if there is one."""
    some, size = every_candidate(problem), steps.size
    total = int((size * (steps.lists >= 0).sum(axis=1)).sum())
    room = int(np.minimum(most, total)[some].sum())
    largest, roomiest = int(size.max(initial=0)), int(most[some].max(initial=0))
    if total > room:
        return [Impossible(Obstacle.ROOM_IMPOSSIBLE, needed=total, available=room)]
    if largest > roomiest:
        return [Impossible(Obstacle.ROOM_IMPOSSIBLE, needed=largest, available=roomiest)]
    return []


def _room(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, of_disks: Ints
) -> Ints:
    """What each broker may hold, of its disks: they hold the partitions that are not placed by rule as well."""
    others, beside = _beside(problem, at, lists, rows)
    taken = amounts(beside, problem.partitions.bytes[others], at.count)
    room: Ints = np.maximum(of_disks - taken, 0)
    return room
