"""Commands that ask for leaders, and about the records that an unclean election drops."""
