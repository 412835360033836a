"""A loop that reconciles, as people and machines see it: on a page, in a terminal, in a message, as metrics."""
