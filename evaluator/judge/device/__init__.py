"""The device that is judged on: its lock, its state, and other processes on it."""
