"""The cluster as it is: health, running reassignments, throttles, the leader blacklist, the first look of `doctor`."""
