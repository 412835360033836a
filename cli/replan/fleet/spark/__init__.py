"""Spark: its Java, its session, what is shipped to executors, and the work of all clusters in it. No meaning here."""
