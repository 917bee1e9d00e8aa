"""The vocabulary of results: statuses, categories, evidence, calibrations, and how they are written as text; it imports nothing of ours."""
