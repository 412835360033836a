"""What several commands read: shared options, the cluster, its journal, plans, produce rates. No command is here."""
