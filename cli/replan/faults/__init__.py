"""What can befall a cluster, in words: one vocabulary for `--fault "kill 3 at 10m for 5m"` and for scenarios.

Here belong the words, one small module per family, each form beside the happenings of the simulator that it means,
and the reading with its error texts. Not here: what a happening does (`simulator.happenings`), when faults are drawn
by chance (`rehearsal`), how a story lets time pass (`scenarios`).
"""
