"""The sections of a placement file, each checked into what it declares; names and units as people write them."""
