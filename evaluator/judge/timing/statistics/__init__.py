"""Statistics of a timing: its samples and their quartiles, the speedup with its interval, and which statistic counts."""
