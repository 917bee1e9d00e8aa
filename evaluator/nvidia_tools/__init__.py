"""NVIDIA's tools that run a worker as their child, compute-sanitizer and ncu: finding them, and starting them in the sandbox."""
