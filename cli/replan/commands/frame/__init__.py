"""What makes a function a command: its parameters, the streams it writes to, signals. No command is here."""
