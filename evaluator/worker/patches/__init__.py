"""What stands in for functions of PyTorch and the submission in a worker: builds on request, kernels noted or left out."""
