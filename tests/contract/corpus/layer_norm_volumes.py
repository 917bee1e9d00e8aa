# form: the mean of the squares less the square of the mean
# problem: layer_norm_volumes
# expect: correct/no_custom_kernel
def __init__(self, shape):
    super().__init__()
    self.norm = nn.LayerNorm(shape)


def forward(self, x):
    count = x[0].numel()
    mean = x.sum((1, 2, 3), keepdim=True) / count
    variance = (x * x).sum((1, 2, 3), keepdim=True) / count - mean * mean
    return (x - mean) * torch.rsqrt(variance + self.norm.eps) * self.norm.weight + self.norm.bias
