# form: reads one triangle of the left matrix
# problem: symmetric_product
# expect: correct/no_custom_kernel
def forward(self, a, b):
    below = torch.tril(a, -1)
    return below @ b + a.diagonal()[:, None] * b + below.T @ b
