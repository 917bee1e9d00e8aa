# form: batch normalization by two moments, with its parameters applied by hand
# problem: batch_norm
# expect: correct/no_custom_kernel
def __init__(self, features):
    super().__init__()
    self.bn = nn.BatchNorm2d(features)


def forward(self, x):
    count = x.numel() / x.shape[1]
    mean = x.sum((0, 2, 3), keepdim=True) / count
    variance = (x * x).sum((0, 2, 3), keepdim=True) / count - mean * mean
    weight, bias = self.bn.weight.view(1, -1, 1, 1), self.bn.bias.view(1, -1, 1, 1)
    return (x - mean) / torch.sqrt(variance + self.bn.eps) * weight + bias
