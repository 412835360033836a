"""Connections to brokers: bytes, messages, deadlines. What is asked is not known here."""
