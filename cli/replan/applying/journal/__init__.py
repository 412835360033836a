"""What is written down so that it outlives the process: records, their JSON, where they are kept, what they mean together.

Not here: what is decided from them (`partitions`, `decide`), and the compacted topic that keeps them (`kafka`).
"""
