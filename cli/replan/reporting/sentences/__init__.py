"""Refusals, warnings and risks of plans as sentences, each rendered once; reports put them in place."""
