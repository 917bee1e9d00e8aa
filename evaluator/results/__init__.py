"""The vocabulary of results: statuses, categories, evidence, calibrations, and their text. It imports no other package of the project."""
