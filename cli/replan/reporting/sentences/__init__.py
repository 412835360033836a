"""Reasons, warnings and risks as sentences, each rendered once; the reports of the other rooms put them in place."""
