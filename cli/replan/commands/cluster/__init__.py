"""Commands that read a cluster, or documents about it, and change nothing."""
