# form: shifted products, then one matrix product
# problem: depthwise_separable
# expect: correct/no_custom_kernel
def __init__(self, channels, features):
    super().__init__()
    self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
    self.pointwise = nn.Conv2d(channels, features, 1, bias=False)


def forward(self, x):
    windows = nn.functional.pad(x, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
    y = (windows * self.depthwise.weight[:, 0, None, None]).sum((-1, -2))
    return torch.tensordot(self.pointwise.weight[:, :, 0, 0], y, ([1], [1])).transpose(0, 1)
