# form: patches by reshaping, attention by einsum, norms by two moments
# problem: vision_block
# expect: correct/no_custom_kernel
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
