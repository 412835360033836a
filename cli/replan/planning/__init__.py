"""(placement, snapshot, rates) -> plan, and what one move asks next. Pure: no clock, no disk, no network."""
