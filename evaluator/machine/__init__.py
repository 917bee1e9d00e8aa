"""This machine: its devices and the control groups that limit it."""
