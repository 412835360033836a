"""Plans, and what differs between two of them: as text, markdown, a page, or findings at lines of the placement."""
