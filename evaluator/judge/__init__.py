"""The trusted side: draws inputs, reads outputs from its own memory, compares, times, and decides."""
