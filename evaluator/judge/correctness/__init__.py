"""Correctness of a submission's outputs: inputs, the reference, the comparison, and the rounds that use them."""
