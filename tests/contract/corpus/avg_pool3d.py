# form: one sum for each dimension
# problem: avg_pool3d
# expect: correct/no_custom_kernel
def __init__(self, kernel_size, stride, padding):
    super().__init__()
    self.kernel_size, self.stride, self.padding = kernel_size, stride, padding


def forward(self, x):
    x = nn.functional.pad(x, (self.padding,) * 6)
    for dim in (2, 3, 4):
        x = x.unfold(dim, self.kernel_size, self.stride).sum(-1)
    return x / self.kernel_size**3
