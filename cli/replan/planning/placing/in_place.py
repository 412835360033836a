"""Which partitions keep their rule as they are: found in columns, so that a million of them cost a second or two."""

import numpy as np

from replan.model.columns import PAD, Flags, Ints, Matrix
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import NO_RACK, Lie, PlacementProblem, Rule

CHUNK = 1 << 17
"""Rows that are counted over the racks at a time: bounds the memory."""


def in_place(problem: PlacementProblem, at: Positions) -> Flags:
    """Which partitions need no change by their own rule; shape (partitions,)."""
    found = np.zeros(len(problem.partitions), dtype=bool)
    for number, rule in enumerate(problem.rules):
        rows = np.flatnonzero(problem.partitions.rule == number)
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            found[some] = _keeps(problem, rule, some, at)
    return found


def _keeps(problem: PlacementProblem, rule: Rule, rows: Ints, at: Positions) -> Flags:
    partitions, rack = problem.partitions, problem.brokers.rack
    if rule.lie is Lie.LISTED:
        gone = np.isin(at.ids, np.array(sorted(problem.drained), dtype=np.int64))
        drained = np.append(gone, False)[at.find(partitions.base[rows])]
        return np.asarray(~drained.any(axis=1))
    lists = at.find(partitions.current[rows])
    factor = partitions.factor[rows]
    legal = at.flags(rule.candidates, others=False, padding=True)[lists].all(axis=1)
    kept: Flags = legal & ((lists != PAD).sum(axis=1) == factor)
    if rule.lie is Lie.NONE:
        return kept
    if (rack[rule.candidates] == NO_RACK).any():
        return np.zeros(len(rows), dtype=bool)
    if rule.lie is Lie.IN_RACK:
        racks = at.numbers(rack, NO_RACK)[lists]
        same = (racks == racks[:, :1]) | (lists == PAD)
        return np.asarray(kept & same.all(axis=1))
    if rule.lie is Lie.PER_RACK:
        racks = at.numbers(rack, NO_RACK)[lists]
        for number, wanted in enumerate(rule.per_rack):
            kept &= (racks == number).sum(axis=1) == wanted
        return kept
    return kept & _spread(lists, factor, at.numbers(*_codes(rule, rack)))


def _codes(rule: Rule, rack: Ints) -> tuple[Ints, int]:
    """A number for the rack of each broker, from 0 for those of the candidates, and the one number of all others."""
    among = np.unique(rack[rule.candidates])
    if not len(among):
        return np.zeros(len(rack), dtype=np.int64), 0
    code = np.minimum(np.searchsorted(among, rack), len(among) - 1)
    return np.where(among[code] == rack, code, len(among)), len(among)


def _spread(lists: Matrix, factor: Ints, codes: Ints) -> Flags:
    """Whether each rack of the candidates holds the floor or the ceiling."""
    number = int(codes[-1])
    if not number:
        return np.zeros(len(lists), dtype=bool)
    flat = np.arange(len(lists))[:, None] * (number + 1) + codes[lists]
    counts = np.bincount(flat.ravel(), minlength=len(lists) * (number + 1))
    inside = counts.reshape(len(lists), number + 1)[:, :number]
    least, extras = factor // number, factor % number
    found: Flags = (inside.min(axis=1) >= least) & (inside.max(axis=1) <= least + (extras > 0))
    return found
