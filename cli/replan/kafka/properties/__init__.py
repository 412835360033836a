"""The client properties file, understood: what connects and how it is secured; no connection is made here."""
