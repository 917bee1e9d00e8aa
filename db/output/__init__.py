"""Evaluations, rankings and figures as text, JSON, a page or a picture."""
