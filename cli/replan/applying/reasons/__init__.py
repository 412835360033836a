"""Why a partition waits (`waits`) or has ended (`ends`), and what is noted beside: values with their measures.

Waits are by subject: what may not begin (`gates`), `copies`, `requests` and what is not seen yet, `recovery`.

Two reasons are equal where only their measures differ, which change from tick to tick: a hold that counts down stays
the same hold. A new reason belongs in one of the unions, and gets its sentence in `reporting` (`hold_text`,
`end_text`); mypy names every place that has to know it. Not here: sentences, and what is concluded from a reason.
"""
