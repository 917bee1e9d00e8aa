# form: a library's matrix product, and all that follows it in a kernel of its own
# problem: linear_block
# expect: correct/ok
# base: rows
ROW = "for (EACH(i, n)) out[i] = fmaxf(in[i] * given.a[i] + given.b[i], 0.0f);"


def __init__(self, in_features: int, out_features: int):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features)
    self.norm = nn.BatchNorm1d(out_features)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
    shift = self.norm.bias - self.norm.running_mean * scale
    product = self.linear(x)
    return ops.run(product, product.shape[1], [scale, shift])
