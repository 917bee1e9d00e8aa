# expect: correct/no_custom_kernel


# %% conv1d
# form: one product for each tap
"""Convolution in one dimension with stride and dilation."""

batch_size = 5
channels = 6
features = 7


class Model(nn.Module):
    def __init__(self, channels, features, kernel_size, stride, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, features, kernel_size, stride=stride, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 150)]


def get_init_inputs():
    return [channels, features, 3, 2, 3]


def __init__(self, channels, features, kernel_size, stride, dilation):
    super().__init__()
    self.conv = nn.Conv1d(channels, features, kernel_size, bias=False)
    self.stride, self.dilation = stride, dilation


def forward(self, x):
    taps = self.conv.weight.unbind(2)
    count = (x.shape[2] - self.dilation * (len(taps) - 1) - 1) // self.stride + 1
    y = 0
    for number, tap in enumerate(taps):
        start = number * self.dilation
        y = y + tap @ x[:, :, start : start + self.stride * (count - 1) + 1 : self.stride]
    return y


# %% conv2d_groups
# form: im2col and one product for each group
"""Convolution in groups, with stride, padding and bias."""

batch_size = 4
channels = 6
features = 10
groups = 2


class Model(nn.Module):
    def __init__(self, channels, features, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, (3, 5), stride=2, padding=(1, 2), groups=groups)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.rand(batch_size, channels, 25, 22)]


def get_init_inputs():
    return [channels, features, groups]


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


# %% conv3d
# form: a sum over the 27 taps
"""Convolution over volumes, then ReLU and a bias."""

batch_size = 2
channels = 3
features = 5


class Model(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv3d(channels, features, 3)
        self.bias = nn.Parameter(torch.randn(features, 1, 1, 1))

    def forward(self, x):
        return torch.relu(self.conv(x)) + self.bias


def get_inputs():
    return [torch.rand(batch_size, channels, 10, 12, 11)]


def get_init_inputs():
    return [channels, features]


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


# %% conv_batch_norm
# form: a convolution by im2col, and batch normalization folded into one factor and one term
"""Convolution, batch normalization in training mode, and a factor."""

batch_size = 6
channels = 3
features = 8
factor = 2.0


class Model(nn.Module):
    def __init__(self, channels, features, factor):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3)
        self.bn = nn.BatchNorm2d(features)
        self.factor = factor

    def forward(self, x):
        return self.bn(self.conv(x)) * self.factor


def get_inputs():
    return [torch.rand(batch_size, channels, 22, 22)]


def get_init_inputs():
    return [channels, features, factor]


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


# %% conv_transpose2d
# form: products scattered to their places
"""Transposed convolution with stride and padding, then a clamp."""

batch_size = 4
channels = 5
features = 6


class Model(nn.Module):
    def __init__(self, channels, features, stride, padding):
        super().__init__()
        self.conv = nn.ConvTranspose2d(channels, features, 3, stride=stride, padding=padding)

    def forward(self, x):
        return torch.clamp(self.conv(x), min=-0.5, max=0.5)


def get_inputs():
    return [torch.rand(batch_size, channels, 11, 13)]


def get_init_inputs():
    return [channels, features, 2, 1]


def __init__(self, channels, features, stride, padding):
    super().__init__()
    self.conv = nn.ConvTranspose2d(channels, features, 3)
    self.stride, self.padding = stride, padding


def forward(self, x):
    height, width = x.shape[2:]
    step, features = self.stride, self.conv.out_channels
    y = torch.zeros(x.shape[0], features, (height - 1) * step + 3, (width - 1) * step + 3, device=x.device, dtype=x.dtype)
    for i in range(3):
        for j in range(3):
            part = torch.einsum("co,nchw->nohw", self.conv.weight[:, :, i, j], x)
            y[:, :, i : i + step * (height - 1) + 1 : step, j : j + step * (width - 1) + 1 : step] += part
    y = y[:, :, self.padding : y.shape[2] - self.padding, self.padding : y.shape[3] - self.padding]
    return (y + self.conv.bias[:, None, None]).clamp(min=-0.5).clamp(max=0.5)


# %% depthwise_separable
# form: shifted products, then one matrix product
"""A depthwise convolution, then a pointwise one."""

batch_size = 4
channels = 6
features = 9


class Model(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.pointwise = nn.Conv2d(channels, features, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


def get_inputs():
    return [torch.rand(batch_size, channels, 20, 21)]


def get_init_inputs():
    return [channels, features]


def __init__(self, channels, features):
    super().__init__()
    self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
    self.pointwise = nn.Conv2d(channels, features, 1, bias=False)


def forward(self, x):
    windows = nn.functional.pad(x, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
    y = (windows * self.depthwise.weight[:, 0, None, None]).sum((-1, -2))
    return torch.tensordot(self.pointwise.weight[:, :, 0, 0], y, ([1], [1])).transpose(0, 1)


# %% inverted_residual
# form: a MobileNet block: pointwise products, nine shifted depthwise products, three batch normalizations by hand
"""A MobileNet block: expand, depthwise convolution, project, and the input added; batch normalization in training mode."""

batch_size = 4
channels = 6
hidden = 18


class Model(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return x + self.block(x)


def get_inputs():
    return [torch.randn(batch_size, channels, 14, 14)]


def get_init_inputs():
    return [channels, hidden]


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


# %% vision_block
# form: patches by reshaping, attention by einsum, norms by two moments
"""A vision transformer of one block: patches, a class token, attention, a perceptron, and a head."""

batch_size = 3
size = 16
patch = 4
width = 32
heads = 4
classes = 10


class Model(nn.Module):
    def __init__(self, size, patch, width, heads, classes):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, stride=patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        x = self.embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.place
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [size, patch, width, heads, classes]


def __init__(self, size, patch, width, heads, classes):
    super().__init__()
    self.embed = nn.Conv2d(3, width, patch, stride=patch)
    self.token = nn.Parameter(torch.randn(1, 1, width))
    self.place = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
    self.norm1 = nn.LayerNorm(width)
    self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
    self.norm2 = nn.LayerNorm(width)
    self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))
    self.head = nn.Linear(width, classes)
    self.patch, self.heads = patch, heads


def normalized(x, norm):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((x * x).mean(-1, keepdim=True) - mean * mean + norm.eps) * norm.weight + norm.bias


def attended(x, attention, heads):
    qkv = (x @ attention.in_proj_weight.T + attention.in_proj_bias).unflatten(-1, (3, heads, -1))
    q, k, v = qkv.unbind(2)
    weights = torch.exp(torch.einsum("nqhd,nkhd->nhqk", q, k) / q.shape[-1] ** 0.5)
    y = torch.einsum("nhqk,nkhd->nqhd", weights / weights.sum(-1, keepdim=True), v).flatten(2)
    return y @ attention.out_proj.weight.T + attention.out_proj.bias


def forward(self, image):
    n, channels, size, _ = image.shape
    count = size // self.patch
    patches = image.view(n, channels, count, self.patch, count, self.patch).permute(0, 2, 4, 1, 3, 5).reshape(n, count**2, -1)
    x = patches @ self.embed.weight.flatten(1).T + self.embed.bias
    x = torch.cat([self.token.repeat(n, 1, 1), x], 1) + self.place
    x = (x + attended(normalized(x, self.norm1), self.attention, self.heads))[:, 0]
    y = normalized(x, self.norm2) @ self.mlp[0].weight.T + self.mlp[0].bias
    y = 0.5 * y * (1 + torch.erf(y / 2**0.5))
    return self.head(x + y @ self.mlp[3].weight.T + self.mlp[3].bias)
