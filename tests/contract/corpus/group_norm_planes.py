# form: two sums of each group
# problem: group_norm_planes
# expect: correct/no_custom_kernel
def __init__(self, features, groups):
    super().__init__()
    self.norm = nn.GroupNorm(groups, features)


def forward(self, x):
    grouped = x.reshape(x.shape[0], self.norm.num_groups, -1)
    mean = grouped.mean(2, keepdim=True)
    variance = grouped.square().mean(2, keepdim=True) - mean.square()
    y = ((grouped - mean) / torch.sqrt(variance + self.norm.eps)).view_as(x)
    return y * self.norm.weight[:, None, None] + self.norm.bias[:, None, None]
