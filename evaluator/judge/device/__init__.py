"""The judge's device: its lock, its state, and other processes on it."""
