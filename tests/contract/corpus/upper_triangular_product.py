# form: outer products of a column's head and a row's tail
# problem: upper_triangular_product
# expect: correct/no_custom_kernel
def forward(self, a, b):
    product = torch.zeros_like(a)
    for k in range(a.shape[0]):
        product[: k + 1, k:] += torch.outer(a[: k + 1, k], b[k, k:])
    return product
