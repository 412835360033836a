"""Performs a plan through the ControlPlane port, with a journal; decides purely, acts in one small shell.

Here belong the journal, the ledger, slots, throttle bookkeeping and the reconcile loop.
Not here: what a move is (planning), how a cluster is spoken to (kafka, simulator), text (reporting).
"""
