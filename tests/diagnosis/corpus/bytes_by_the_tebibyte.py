# fault: a buffer of Python's that no machine has
# problem: sum_reduction
# expect: run_failed/out_of_memory
# says: Allocate less
def __init__(self, dim):
    super().__init__()
    self.workspace = bytearray(1 << 46)  # HERE


def forward(self, x):
    return x.sum(1, keepdim=True)
