"""Whether a right answer is the work of the submission's own kernels, and whether it holds in other shapes."""
