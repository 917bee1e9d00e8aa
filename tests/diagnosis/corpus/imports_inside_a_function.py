# fault: a helper called at load time imports what is not installed
# problem: matmul
# expect: run_failed/import_error
# says: No module named 'cupy_kernels'
def compiled():
    from cupy_kernels.raw import RawKernel  # HERE

    return RawKernel("multiply")


KERNEL = compiled()


def forward(self, a, b):
    return KERNEL(a, b)
