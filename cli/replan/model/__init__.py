"""The nouns: frozen, typed values (`msgspec.Struct`) with no behaviour beyond their own meaning.

Here belong brokers, partitions, snapshots, placements and the ControlPlane port.
Not here: choosing (planning), acting (applying), text (reporting), any input or output.
"""
