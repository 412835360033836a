"""Everything that is read of a cluster, one module per subject. Nothing here changes anything."""
