"""The judge of generated GPU kernels: from a submission to a result. docs/architecture.md lists the packages and the order of imports."""
