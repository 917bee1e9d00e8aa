# form: the upper bound first
# problem: ordered_bounds
# expect: correct/no_custom_kernel
def forward(self, x, low, high):
    return torch.maximum(torch.minimum(x, high), low)
