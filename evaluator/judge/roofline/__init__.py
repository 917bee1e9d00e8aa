"""Measures how fast a device can be, and derives the minimum time of a call."""
