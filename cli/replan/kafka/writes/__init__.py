"""The requests that change a cluster, a module each, sent once. Nothing is read or asked again here."""
