"""Judging for the service: claims requests, runs them through the engine and stores the results."""
