# form: im2col and one product for each group
# problem: conv2d_groups
# expect: correct/no_custom_kernel
def __init__(self, channels, features, groups):
    super().__init__()
    self.conv = nn.Conv2d(channels, features, (3, 5), stride=2, padding=(1, 2), groups=groups)


def forward(self, x):
    groups = self.conv.groups
    columns = nn.functional.unfold(x, (3, 5), stride=2, padding=(1, 2))
    columns = columns.view(x.shape[0], groups, -1, columns.shape[2])
    weight = self.conv.weight.view(groups, self.conv.out_channels // groups, -1)
    y = torch.einsum("gok,ngkp->ngop", weight, columns).flatten(1, 2) + self.conv.bias[:, None]
    return y.view(x.shape[0], -1, (x.shape[2] - 1) // 2 + 1, (x.shape[3] - 1) // 2 + 1)
