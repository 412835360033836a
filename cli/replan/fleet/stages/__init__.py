"""The stages: each a module with one function of the work of a cluster to rows of the lake's tables.

They run in this process or, as they are, inside Spark (`on_spark`); they meet in tables and in
nothing else. Does not belong here: which engine runs them, and the order of the stages (`run`).
"""
