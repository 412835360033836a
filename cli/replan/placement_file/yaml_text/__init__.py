"""YAML text into plain values that know their places, and the problems that are said about those places.

Here belong files, their text, YAML's words and lines. Not here: what a key means.
"""
