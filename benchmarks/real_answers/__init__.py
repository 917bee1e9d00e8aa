"""Submissions to KernelBench's problems in the form of model responses: right, slow, wrong, and failing in their build."""
