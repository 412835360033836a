"""One module per command: read the inputs, call the layers below, print, return the exit code.

Not here: argument declarations (main), rules of any kind (planning, applying), wording (reporting).
"""
