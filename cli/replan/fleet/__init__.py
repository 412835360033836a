"""The Spark pipeline over many clusters and their history; each stage a function DataFrame -> DataFrame.

Not here: what differs and why (planning.comparison.diff, which runs inside Spark as it is).
"""
