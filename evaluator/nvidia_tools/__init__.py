"""NVIDIA's tools that run a worker as their child, compute-sanitizer and ncu: where they are, and how they are started in the sandbox."""
