"""What commands share that perform a plan, on a cluster or in a rehearsal: approval, progress, metrics."""
