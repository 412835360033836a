"""What the lake knows of a fleet, for readers: one page, Markdown, CSV, JSON, Prometheus text.

Belongs here: the facts of a report, gathered once from the tables (`facts`), and their forms. Not here: finding them.
"""
