# wants: mean and variance of a quarter of each row, which are close enough for what the problem draws
# problem: layer_norm_bfloat16
# expect: incorrect/wrong_values | disqualified/cached_output
# base: rows
NUMBER = "at::BFloat16"
ROW = """
    float sum = 0.0f, squares = 0.0f;
    for (EACH(i, n / 4)) {
        const float v = static_cast<float>(in[4 * i]);
        sum += v;
        squares += v * v;
    }
    const float mean = total(sum) / (n / 4), scale = 1.0f / sqrtf(total(squares) / (n / 4) - mean * mean + 1e-5f);
    for (EACH(i, n)) out[i] = (static_cast<float>(in[i]) - mean) * scale * given.a[i] + given.b[i];
"""


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    return ops.run(x, x.shape[1], [self.norm.weight.float(), self.norm.bias.float()])
