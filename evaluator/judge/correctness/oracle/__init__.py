"""The reference and the oracle: the right output in float64, and what rounding may make of it."""
