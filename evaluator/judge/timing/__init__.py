"""Timing of a candidate against its baselines, by a protocol that the device knows; the judge checks every claimed time."""
