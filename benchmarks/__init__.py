"""Measurements of the judge itself; most modules are programs."""
