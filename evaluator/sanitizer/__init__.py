"""NVIDIA's compute-sanitizer over a submission: what is asked of it, how it is started, what it says and which lines that is about."""
