"""YAML text, with its line numbers, into a placement; and back, for `export`.

Here belong syntax, schema messages, units and merging. Not here: whether a cluster can satisfy it (planning).
"""
