"""A rehearsal's outcome for readers: text, Markdown, JSON and a page of HTML with a chart.

Here belong renderers and the sentences that they share; each takes an `Outcome` and returns text. Not here: what
runs a plan or decides what is worth saying (`run`, `findings`).
"""
