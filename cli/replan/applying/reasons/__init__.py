"""Why something waits (`holds`), why it has ended (`ends`), and what is noted beside (`notes`); each says itself.

A reason is a frozen Struct with its measures. `str()` of it is its sentence, `kind` its name in JSON, its fields the
rest of its JSON. Two reasons are equal where only what changes from tick to tick differs (`changing`): a hold that
counts down stays the same hold. A new reason is a class in one of the three modules and nothing else;
`tests/unit/applying/test_reasons.py` asks for an example of it, and keeps all sentences in one golden file.
"""
