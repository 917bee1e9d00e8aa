# form: a sum over the 27 taps
# problem: conv3d
# expect: correct/no_custom_kernel
def __init__(self, channels, features):
    super().__init__()
    self.conv = nn.Conv3d(channels, features, 3)
    self.bias = nn.Parameter(torch.randn(features, 1, 1, 1))


def forward(self, x):
    depth, height, width = (size - 2 for size in x.shape[2:])
    y = self.conv.bias.view(-1, 1, 1, 1)
    for k in range(3):
        for i in range(3):
            for j in range(3):
                part = x[:, :, k : k + depth, i : i + height, j : j + width]
                y = y + torch.einsum("oc,ncdhw->nodhw", self.conv.weight[:, :, k, i, j], part)
    return torch.where(y > 0, y, 0.0) + self.bias
