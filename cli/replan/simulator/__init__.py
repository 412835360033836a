"""A cluster in memory behind the ControlPlane port, after Kafka's own controller.

`decide(state, command) -> events` and `evolve(state, event) -> state` are pure; each rule cites the class it imitates.
"""
