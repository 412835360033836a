"""What one tick decides, out of one look and the state of the run. Pure; nothing is asked or written."""
