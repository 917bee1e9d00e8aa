# form: rows scaled, without the matrix
# problem: diagonal_product
# expect: correct/no_custom_kernel
def forward(self, a, b):
    return a[:, None] * b
