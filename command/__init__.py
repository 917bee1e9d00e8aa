"""The command line of pipeline.py: its options, one run, and what it writes."""
