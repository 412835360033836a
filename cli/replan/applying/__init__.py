"""Performs a plan through the ControlPlane port, with a journal; decides purely, acts in one small shell.

Here belong the loop and its one decision (`loop`, `decide`), what it is decided from (`observation`, `partitions`),
what may begin (`admission`, with the gates), `throttles`, the `journal`, and the `reasons` why something waits or ends.
Not here: what a move is (planning), how a cluster is spoken to (kafka, simulator), text (reporting).
"""
