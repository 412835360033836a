"""An application as it runs: opened, looked, decided, sent, and ended. The only part that waits and writes."""
