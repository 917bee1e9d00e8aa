# form: a convolution by im2col, and batch normalization folded into one factor and one term
# problem: conv_batch_norm
# expect: correct/no_custom_kernel
def __init__(self, channels, features, factor):
    super().__init__()
    self.conv = nn.Conv2d(channels, features, 3)
    self.bn = nn.BatchNorm2d(features)
    self.factor = factor


def forward(self, x):
    columns = nn.functional.unfold(x, 3)
    y = self.conv.weight.flatten(1) @ columns + self.conv.bias[:, None]
    mean = y.mean((0, 2))
    variance = (y * y).mean((0, 2)) - mean * mean
    scale = self.factor * self.bn.weight * torch.rsqrt(variance + self.bn.eps)
    shift = self.factor * self.bn.bias - mean * scale
    return (y * scale[:, None] + shift[:, None]).view(x.shape[0], -1, x.shape[2] - 2, x.shape[3] - 2)
