# form: one triangle of the products, mirrored
# problem: equal_inputs
# expect: correct/no_custom_kernel
def forward(self, a, b):
    below = torch.tril(a @ b.T)
    return below + torch.tril(below, -1).T
