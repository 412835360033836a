"""The four requests that change a cluster, each sent once. Nothing is read or asked again here."""
