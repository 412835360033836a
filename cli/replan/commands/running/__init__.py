"""Commands that perform a plan, steer what runs, take it back, or try it on the simulator."""
