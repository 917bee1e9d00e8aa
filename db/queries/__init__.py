"""Queries: rankings, counts, comparisons, histories. They only read."""
