"""Whether a submission's answers are right: inputs, the reference, the comparison, and the rounds that use them."""
