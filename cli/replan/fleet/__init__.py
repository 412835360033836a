"""The pipeline over many clusters and their history, in processes or on Spark, which write the lake's tables.

Not here: what differs and why (planning.comparison.diff, which runs inside Spark as it is).
"""
