"""Questions to the database: rankings, counts, comparisons, histories. They only read."""
