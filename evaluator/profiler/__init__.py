"""Nsight Compute (ncu) over the kernels of one call: its command line, its output, and the figures that follow."""
