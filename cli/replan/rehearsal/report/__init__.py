"""A rehearsal's outcome for readers: text, Markdown, JSON and a page with pictures.

Here belong the document that `reporting` writes in each form, its sentences and its pictures, and the JSON. Not here:
running a plan (`run`), and what is worth saying (`findings`).
"""
