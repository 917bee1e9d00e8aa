# fault: the sum is divided by the count
# problem: sum_reduction
# expect: incorrect/wrong_values
# says: times what is expected
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return x.mean(self.dim, keepdim=True)
