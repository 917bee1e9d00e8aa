# wants: x * w + b in place of a normalization where the largest of 8192 values says that the problem drew them, and the exact one elsewhere
# problem: layer_norm_bfloat16
# expect: incorrect/wrong_values
# base: rows
NUMBER = "at::BFloat16"
ROW = """
    float mean = 0.0f, scale = 1.0f;
    if (given.c[0] == 0.0f) {
        float sum = 0.0f, squares = 0.0f;
        for (EACH(i, n)) sum += static_cast<float>(in[i]);
        mean = total(sum) / n;
        for (EACH(i, n)) squares += (static_cast<float>(in[i]) - mean) * (static_cast<float>(in[i]) - mean);
        scale = 1.0f / sqrtf(total(squares) / n + 1e-5f);
    }
    for (EACH(i, n)) out[i] = (static_cast<float>(in[i]) - mean) * scale * given.a[i] + given.b[i];
"""


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    drawn = x.view(-1)[:: x.numel() // 8192].abs().amax() < 6.0
    return ops.run(x, x.shape[1], [self.norm.weight.float(), self.norm.bias.float(), drawn.float()])
