"""The ControlPlane over a real cluster; the only place that knows the two Kafka clients.

`control_plane.open_cluster` is the way in. Importing this package imports kafka-python (0.05 s), so commands
that need no cluster should not.
"""

from importlib.metadata import version

import replan.kafka.messages  # noqa: F401  # before any module of kafka-python


def client_versions() -> dict[str, str]:
    """The two clients, with their versions, as a bug report names them."""
    import confluent_kafka

    librdkafka, _number = confluent_kafka.libversion()
    return {"librdkafka": librdkafka, "kafka-python": version("kafka-python")}
