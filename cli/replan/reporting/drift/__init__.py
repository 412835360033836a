"""Drift, and why one partition is where it is. What a difference is, `planning` says."""
