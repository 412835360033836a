"""Throttles of running copies: lists of topics, rates of brokers, and how both are put back.

Not here: how what was there before is stored (`journal`), and who copies now (`tick.decide`).
"""
