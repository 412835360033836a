"""Partitions without a leader: what their surviving logs hold, which of them is to lead, and what that loses. Pure.

Here belong the questions to ask replicas, the candidates, the ranking of logs and the choice by a strategy. Not here:
asking and electing (`applying.steps.recovering`), and moves.
"""
