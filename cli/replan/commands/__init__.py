"""The commands: options, inputs, one call of the layers below, output, exit code.

A module for each command, or for a few that share their subject (`elect`, `steer`, `inspect`; the table is in
`replan.main`); a function there is a command, and its docstring is its help. They import nothing heavy, since `--help`
reads them all. What one folder alone uses lies in it, beside its commands; what several use lies in `shared`:

    frame        what makes a function a command: parameters, streams, signals
    shared       options, the cluster that they name with its journal, plans, one application of a plan
    cluster, elections, fleet, placement, running
                 the commands, by what they are about
    observing    who watches the loop of `reconcile`

Not here: rules of any kind (planning, applying), wording of results (reporting).
"""
