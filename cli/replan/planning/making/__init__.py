"""How a plan is made of a placement and a snapshot, or of the way back: a step a module. Judges are in `safety`."""
