"""The command line of pipeline.py: its options, one run of it, and what it writes."""
