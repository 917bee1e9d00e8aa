# form: reads a row once, and a second time where the row itself shows that one reading is not precise enough
# problem: layer_norm
# expect: correct/ok
# base: rows
ROW = """
    const float first = in[0];
    float sum = 0.0f, squares = 0.0f;
    for (EACH(i, n)) sum += in[i] - first, squares += (in[i] - first) * (in[i] - first);
    const float mean = total(sum) / n;
    const float square = total(squares) / n;
    float variance = square - mean * mean;
    if (variance < square / 4.0f) {
        float rest = 0.0f;
        for (EACH(i, n)) rest += (in[i] - first - mean) * (in[i] - first - mean);
        variance = total(rest) / n;
    }
    const float scale = 1.0f / sqrtf(variance + 1e-5f);
    for (EACH(i, n)) out[i] = (in[i] - first - mean) * scale * given.a[i] + given.b[i];
"""


def __init__(self, dim: int):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return ops.run(x.view(-1, x.shape[-1]), x.shape[-1], [self.norm.weight, self.norm.bias]).view(x.shape)
