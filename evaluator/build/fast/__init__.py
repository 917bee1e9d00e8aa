"""The fast way to compile a source: cut-down PyTorch headers, precompiled headers, and nvcc's passes side by side."""
