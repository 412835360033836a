"""The ControlPlane over a real cluster; the only place that knows the two Kafka clients.

`control_plane.open_cluster` is the way in. Importing this package imports kafka-python (0.05 s), so commands
that need no cluster should not.
"""

import replan.kafka.messages  # noqa: F401  # before any module of kafka-python
