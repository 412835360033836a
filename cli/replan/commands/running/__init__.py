"""Commands that perform a plan, steer what runs, take it back, or try it on the simulator, and what these alone need.

`asking` is for those that steer, `fault_injection` for `apply --fault`;
`rehearsals` and `loop_rehearsal` for `rehearse`.
"""
