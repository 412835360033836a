"""What outlives the process: records, their JSON, where they are kept, and what they mean together.

Not here: what is decided from them (`partitions`, `decide`), and the compacted topic that keeps them (`kafka`).
"""
