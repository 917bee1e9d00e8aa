"""The trusted side: makes random inputs, reads outputs from its own memory, compares, times, and decides."""
