"""Values into text: plain, markdown, html, json, and forms of other tools. Pure; prints nothing itself.

A report says what it says once, as blocks (`blocks`; `plan_report`, `drift_report`): text, `markdown` and `page` write
them. What all share is in `lines` and `prometheus`. Not here: what is a rehearsal's alone (`rehearsal.report`), and the
sentences of reasons, which say themselves (`applying.reasons`).
"""
