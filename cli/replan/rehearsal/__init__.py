"""A plan performed on the simulator before it is performed on a cluster: how long, how loaded, how close to min ISR.

Not here: the rules of the controller and of applying; the very same code runs as on a real cluster.
"""
