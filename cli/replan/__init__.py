"""Kafka replica placement as code: declare, plan, apply, drift."""

__version__ = "0.1.0"
