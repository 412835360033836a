"""A rehearsal's outcome for readers: text, Markdown, JSON and a page of HTML with a chart.

Here belong the sections and sentences that the forms share, and one renderer for each form; each takes a `Report` and
returns text. Add a form: one module that goes through `sections`. Not here: running a plan (`run`), and what is worth
saying (`findings`).
"""
