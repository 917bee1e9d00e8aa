# fault: a product of shapes that do not fit, in a helper
# problem: matmul
# expect: run_failed/python_exception
# says: mat1 and mat2 shapes cannot be multiplied
def product(left, right):
    return torch.mm(left, right)  # HERE


def forward(self, a, b):
    return product(a.t(), b)
