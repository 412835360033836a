"""How an application goes and how it ended, its journal and its elections: for terminals, CI and Prometheus."""
