"""Commands about what is declared: make it, compare it with the cluster, explain it, change it."""
