"""Nsight Compute (ncu) over the kernels of one call: what is asked of it, what it writes, and the figures that follow."""
