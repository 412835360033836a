"""Values into text: plain, markdown, html, json, and forms of other tools. Pure; prints nothing itself.

A module for each value and form (`drift_text`, `drift_json`, `drift_page`); what the forms of a value share is in its
words (`drift_words`), what all share in `table`, `markdown`, `page` and `prometheus`. Not here: what is a rehearsal's
alone (`rehearsal.report`), and the sentences of reasons, which say themselves (`applying.reasons`).
"""
