"""The pipeline over many clusters and their history, in one process or on Spark; each stage DataFrame -> DataFrame.

Not here: what differs and why (planning.comparison.diff, which runs inside Spark as it is).
"""
