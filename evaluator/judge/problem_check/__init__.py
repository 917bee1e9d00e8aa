"""Checks whether a problem is fit to judge submissions."""
