"""Who watches a loop from outside: over HTTP, by messages to a web hook, in a log, by files."""
