"""Measurements of the judge itself; each module is a program."""
