"""Values into text: plain, markdown, html, json, and forms of other tools. Pure; prints nothing itself.

A report says what it says once, as blocks (`blocks`; `plan_report`, `drift_report`): text, `markdown` and `page` write
them. Forms of other tools have a module each (`drift_json`). What the forms of a value share is in its words
(`drift_words`), what all share in `table` and `prometheus`. Not here: what is a rehearsal's alone
(`rehearsal.report`), and the sentences of reasons, which say themselves (`applying.reasons`).
"""
