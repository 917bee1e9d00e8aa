# form: two sums of each plane
# problem: instance_norm
# expect: correct/no_custom_kernel
def __init__(self, features):
    super().__init__()


def forward(self, x):
    mean = x.mean((2, 3), keepdim=True)
    variance = (x * x).mean((2, 3), keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + 1e-5)
