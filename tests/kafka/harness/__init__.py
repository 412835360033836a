"""Real Kafka for the tests: brokers and controllers started from jars, on loopback, in seconds.

Three tiers, from the quickest to the most lifelike:

* `fake_brokers.FakeBrokers`: one real controller, and brokers that are only scripted requests.
  Every state of the control plane can be made at will; there is no data.
* `one_jvm.OneJvmCluster`: five real brokers in one JVM, ready in about a second and a half.
  They can be stopped cleanly and started, not killed or frozen.
* `cluster.Cluster`: one JVM per node. Each can be stopped, killed, frozen and started again.

What belongs here starts, breaks and loads Kafka. What does not: anything of `replan` itself;
the harness must stay a second opinion on how Kafka behaves.
"""
