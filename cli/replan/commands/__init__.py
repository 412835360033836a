"""The commands: options, inputs, one call of the layers below, output, exit code.

A module for each command, or for a few that share their subject (`elect`, `steer`, `inspect`; the table is in
`replan.main`); a function there is a command, and its docstring is its help. They import nothing heavy, since `--help`
reads them all. Beside them is what they share: `command_line` and `options` (how a function becomes a command),
`target` (which cluster), `output`, `progress`, `journals`, `plans`; and the work of the larger commands: `application`,
`recovering`, `rehearsals`, `fault_injection`.

Not here: rules of any kind (planning, applying), wording of results (reporting).
"""
