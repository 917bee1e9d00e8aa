# form: sums over the terms between both triangles only
# problem: lower_triangular_product
# expect: correct/no_custom_kernel
def forward(self, a, b):
    product = torch.zeros_like(a)
    for start in range(0, a.shape[0], 32):
        rows, end = slice(start, start + 32), start + 32
        product[rows, :end] = a[rows, :end] @ b[:end, :end]
    return product
