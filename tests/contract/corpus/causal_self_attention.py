# form: keys in blocks, with a running maximum and a running sum
# problem: causal_self_attention
# expect: correct/no_custom_kernel
BLOCK = 16


def __init__(self, width, heads, length):
    super().__init__()
    self.c_attn = nn.Linear(width, 3 * width)
    self.c_proj = nn.Linear(width, width)
    self.heads = heads


def forward(self, x):
    batch, length, width = x.shape
    q, k, v = self.c_attn(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
    q = q * q.shape[-1] ** -0.5
    rows = torch.arange(length, device=x.device)[:, None]
    largest = torch.full_like(q[..., :1], -torch.inf)
    total, y = torch.zeros_like(largest), torch.zeros_like(q)
    for start in range(0, length, BLOCK):
        keys = torch.arange(start, min(start + BLOCK, length), device=x.device)
        scores = torch.where(keys <= rows, q @ k[:, :, keys].transpose(2, 3), -torch.inf)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights, old = torch.exp(scores - new), torch.exp(largest - new)
        total, y, largest = total * old + weights.sum(-1, keepdim=True), y * old + weights @ v[:, :, keys], new
    return self.c_proj((y / total).transpose(1, 2).reshape(batch, length, width))
