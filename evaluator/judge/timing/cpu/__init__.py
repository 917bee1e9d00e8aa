"""Parts of timing for CPUs alone: the CPU time of a worker's processes, cores that are kept awake, and the judge's own core."""
