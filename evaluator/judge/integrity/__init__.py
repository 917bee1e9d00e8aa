"""Checks whether a right answer is the work of the submission's own kernels, and whether it is right in other shapes."""
