"""`fleet …`: many clusters at once and their history, on this machine or through Spark.

Belongs here: options, the fleet file, one call of `replan.fleet`, output, exit codes. Not here: what is found.
"""
