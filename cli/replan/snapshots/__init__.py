"""Snapshots on disk: one JSON document for people and small clusters, a folder of Parquet for large ones.

Not here: what a snapshot means (model.snapshot), where it comes from (kafka, simulator).
"""
