"""One change of one partition, whatever asked for it (PartitionChangeBuilder, PartitionReassignmentReplicas).

Here belong the order of work of a change, the choice of a leader and the arithmetic of replica lists. Not here:
requests and their answers, which are one module each in `controller`.
"""
