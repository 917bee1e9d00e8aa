# fault: __init__ refuses the sizes that it is given
# problem: rms_norm
# expect: run_failed/init_error
# says: multiple of 32
def checked(dim):
    if dim % 1024:
        raise ValueError(f"dim has to be a multiple of 32 times 32, not {dim}")  # HERE
    return dim


def __init__(self, dim, eps):
    super().__init__()
    self.dim = checked(dim + 1)


def forward(self, x):
    return x
