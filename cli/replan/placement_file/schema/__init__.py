"""The JSON Schemas: where they are, whether a document is right by one, and what is wrong with it in words.

Not here: what a schema cannot say, such as a broker that is listed twice.
"""
