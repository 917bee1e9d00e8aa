"""Converts results to rows and back, and updates the derived values."""
