# form: a MobileNet block: pointwise products, nine shifted depthwise products, three batch normalizations by hand
# problem: inverted_residual
# expect: correct/no_custom_kernel
def __init__(self, channels, hidden):
    super().__init__()
    self.expand = nn.Conv2d(channels, hidden, 1, bias=False)
    self.expand_norm = nn.BatchNorm2d(hidden)
    self.depthwise = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False)
    self.depthwise_norm = nn.BatchNorm2d(hidden)
    self.project = nn.Conv2d(hidden, channels, 1, bias=False)
    self.project_norm = nn.BatchNorm2d(channels)


def normalized(x, norm):
    mean = x.mean((0, 2, 3), keepdim=True)
    variance = (x * x).mean((0, 2, 3), keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + norm.eps) * norm.weight[:, None, None] + norm.bias[:, None, None]


def forward(self, x):
    height, width = x.shape[2:]
    y = torch.einsum("oc,nchw->nohw", self.expand.weight[:, :, 0, 0], x)
    y = normalized(y, self.expand_norm).clamp(0, 6)
    padded = nn.functional.pad(y, (1, 1, 1, 1))
    y = torch.zeros_like(y)
    for i in range(3):
        for j in range(3):
            y += padded[:, :, i : i + height, j : j + width] * self.depthwise.weight[:, 0, i, j, None, None]
    y = normalized(y, self.depthwise_norm).clamp(0, 6)
    y = torch.einsum("oc,nchw->nohw", self.project.weight[:, :, 0, 0], y)
    return x + normalized(y, self.project_norm)
