"""Imports kafka-python by way of the adapter, which keeps its deprecated calls quiet."""

import replan.kafka  # noqa: F401
