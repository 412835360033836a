"""Documents of any kind: read within limits, parsed so that an error has a place, written whole or not at all.

Belongs here: JSON text and its values, reading and replacing files. Does not belong here: what any document means;
plans, snapshots and journals each know their own.
"""
