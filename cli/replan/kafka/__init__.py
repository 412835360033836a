"""The ControlPlane over a real cluster; the only place that knows the two Kafka clients."""
