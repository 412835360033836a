"""What a plan is: moves and its other steps as values, what a move asks next, and the written form."""
