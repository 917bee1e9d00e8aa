"""NVIDIA's compute-sanitizer over a submission: its command line, its start, its reports and the lines that they are about."""
