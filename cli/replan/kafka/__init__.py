"""The ControlPlane over a real cluster; the only place that knows the two Kafka clients.

`control_plane.open_cluster` is the way in; below it, and in this order:

    client_properties   a file of the user, understood; `security` makes TLS and SASL of it
    wire                requests to brokers in rounds with a deadline, each sent once: a `Question` gets its answer, or
                        a KafkaError in its place
    reads               readings: asked again within a patience (`Reads`), or ClusterUnreachable and ClusterRefused
    writes              changes: sent once, with an `Answer` for each partition, topic and broker
    journal             the topic in which the applier writes what it is about to do

Importing this package imports kafka-python (0.05 s), so commands
that need no cluster should not.
"""

from importlib.metadata import version

import replan.kafka.messages  # noqa: F401  # before any module of kafka-python


def client_versions() -> dict[str, str]:
    """The two clients, with their versions, as a bug report names them."""
    import confluent_kafka

    librdkafka, _number = confluent_kafka.libversion()
    return {"librdkafka": librdkafka, "kafka-python": version("kafka-python")}
