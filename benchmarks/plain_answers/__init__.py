"""Honest answers to problems in KernelBench's form: the reference's model, with every operator written out as a plain formula."""
