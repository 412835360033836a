"""Stories of a simulated cluster and the real planner and applier on it, as text files that everyone can write and run.

Here belong the reading of a story, one small module per family of commands, and the running of a file.
Not here: rules of any kind; a story only asks the layers below, and reports what they did.
"""
