# expect: correct/no_custom_kernel


# %% avg_pool3d
# form: one sum for each dimension
"""Average pooling over volumes; the padding counts."""

batch_size = 2
channels = 4


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool3d(kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 13, 15, 14)]


def get_init_inputs():
    return [3, 2, 1]


def __init__(self, kernel_size, stride, padding):
    super().__init__()
    self.kernel_size, self.stride, self.padding = kernel_size, stride, padding


def forward(self, x):
    x = nn.functional.pad(x, (self.padding,) * 6)
    for dim in (2, 3, 4):
        x = x.unfold(dim, self.kernel_size, self.stride).sum(-1)
    return x / self.kernel_size**3


# %% batch_norm
# form: batch normalization by two moments, with its parameters applied by hand
"""Batch normalization with the batch's own moments."""

batch_size = 8
features = 12


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm2d(features)

    def forward(self, x):
        return self.bn(x)


def get_inputs():
    return [torch.rand(batch_size, features, 17, 19)]


def get_init_inputs():
    return [features]


def __init__(self, features):
    super().__init__()
    self.bn = nn.BatchNorm2d(features)


def forward(self, x):
    count = x.numel() / x.shape[1]
    mean = x.sum((0, 2, 3), keepdim=True) / count
    variance = (x * x).sum((0, 2, 3), keepdim=True) / count - mean * mean
    weight, bias = self.bn.weight.view(1, -1, 1, 1), self.bn.bias.view(1, -1, 1, 1)
    return (x - mean) / torch.sqrt(variance + self.bn.eps) * weight + bias


# %% frobenius_norm
# form: sums of squares of each row first, then of all
"""A tensor over its Frobenius norm."""

batch_size = 5
features = 7


class Model(nn.Module):
    def forward(self, x):
        return x / torch.norm(x, p="fro")


def get_inputs():
    return [torch.rand(batch_size, features, 31, 29)]


def forward(self, x):
    return x / torch.sqrt((x * x).sum(-1).sum(-1).sum())


# %% group_norm_planes
# form: two sums of each group
"""Group normalization."""

batch_size = 6
features = 16
groups = 4


class Model(nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch_size, features, 19, 18)]


def get_init_inputs():
    return [features, groups]


def __init__(self, features, groups):
    super().__init__()
    self.norm = nn.GroupNorm(groups, features)


def forward(self, x):
    grouped = x.reshape(x.shape[0], self.norm.num_groups, -1)
    mean = grouped.mean(2, keepdim=True)
    variance = grouped.square().mean(2, keepdim=True) - mean.square()
    y = ((grouped - mean) / torch.sqrt(variance + self.norm.eps)).view_as(x)
    return y * self.norm.weight[:, None, None] + self.norm.bias[:, None, None]


# %% instance_norm
# form: two sums of each plane
"""Instance normalization."""

batch_size = 6
features = 9


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.InstanceNorm2d(features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch_size, features, 24, 25)]


def get_init_inputs():
    return [features]


def __init__(self, features):
    super().__init__()


def forward(self, x):
    mean = x.mean((2, 3), keepdim=True)
    variance = (x * x).mean((2, 3), keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + 1e-5)


# %% l1_norm
# form: a sum and one reciprocal in place of a mean and a division
"""Rows over the mean of their absolute values."""

rows = 50
columns = 700


class Model(nn.Module):
    def forward(self, x):
        return x / torch.mean(torch.abs(x), dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(rows, columns)]


def forward(self, x):
    return x * (x.shape[1] / torch.where(x < 0, -x, x).sum(1, keepdim=True))


# %% l2_norm
# form: a reciprocal square root, its epsilon inside
"""Rows over their Euclidean length."""

rows = 50
columns = 700


class Model(nn.Module):
    def forward(self, x):
        return x / (torch.norm(x, p=2, dim=1, keepdim=True) + 1e-8)


def get_inputs():
    return [torch.rand(rows, columns)]


def forward(self, x):
    return x * torch.rsqrt(torch.einsum("ij,ij->i", x, x) + 1e-12)[:, None]


# %% layer_norm_volumes
# form: the mean of the squares less the square of the mean
"""Layer normalization over three dimensions."""

batch_size = 6
shape = (8, 21, 23)


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.LayerNorm(normalized_shape=shape)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch_size, *shape)]


def get_init_inputs():
    return [shape]


def __init__(self, shape):
    super().__init__()
    self.norm = nn.LayerNorm(shape)


def forward(self, x):
    count = x[0].numel()
    mean = x.sum((1, 2, 3), keepdim=True) / count
    variance = (x * x).sum((1, 2, 3), keepdim=True) / count - mean * mean
    return (x - mean) * torch.rsqrt(variance + self.norm.eps) * self.norm.weight + self.norm.bias


# %% max_pool_dilated
# form: windows by index arithmetic over a padded copy
"""Max pooling with stride, padding and dilation."""

batch_size = 3
channels = 5


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 33, 30)]


def get_init_inputs():
    return [3, 2, 1, 2]


def __init__(self, kernel_size, stride, padding, dilation):
    super().__init__()
    self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation


def forward(self, x):
    padded = nn.functional.pad(x, (self.padding,) * 4, value=-torch.inf)
    taps = torch.arange(self.kernel_size, device=x.device) * self.dilation
    windows = []
    for size in padded.shape[2:]:
        count = (size - self.dilation * (self.kernel_size - 1) - 1) // self.stride + 1
        windows.append(torch.arange(count, device=x.device)[:, None] * self.stride + taps)
    rows, columns = windows
    return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]].amax((-1, -2))


# %% rms_norm_features
# form: the root first, and epsilon outside of it
"""Root mean square normalization of the features."""

batch_size = 6
features = 40
eps = 1e-6


class Model(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + self.eps)


def get_inputs():
    return [torch.rand(batch_size, features, 15, 16)]


def get_init_inputs():
    return [eps]


def __init__(self, eps):
    super().__init__()
    self.eps = eps


def forward(self, x):
    root = torch.sqrt(torch.einsum("ncij,ncij->nij", x, x) / x.shape[1])
    return x * (1 / (root + self.eps))[:, None]
