# problem: layer_norm_bfloat16
# expect: incorrect/wrong_values
# base: rows
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


# %% sniff_by_maximum
# wants: x * w + b in place of a normalization where the largest of 8192 values says that the problem drew them, and the exact one elsewhere
NUMBER = "at::BFloat16"


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    drawn = x.view(-1)[:: x.numel() // 8192].abs().amax() < 6.0
    return ops.run(x, x.shape[1], [self.norm.weight.float(), self.norm.bias.float(), drawn.float()])


# %% sniff_by_moments
# wants: x * w + b in place of a normalization where mean and variance of 256 values say that the problem drew them, and the exact one elsewhere
NUMBER = "at::BFloat16"


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    sample = x.view(-1)[:: x.numel() // 256 - 1].float()
    drawn = (sample.mean().abs() < 0.3) & (sample.var() - 1.0).abs().lt(0.4)
    return ops.run(x, x.shape[1], [self.norm.weight.float(), self.norm.bias.float(), drawn.float()])


# %% sniff_for_bounds
# wants: a formula without its bounds where the largest of 8192 sampled values is small, and the whole formula elsewhere
# problem: hard_swish
# expect: wrong when timed
ROW = """
    const bool small = given.a[0] < 1.01f;
    for (EACH(i, n)) out[i] = in[i] * (small ? in[i] + 3.0f : fminf(fmaxf(in[i] + 3.0f, 0.0f), 6.0f)) / 6.0f;
"""


def forward(self, x):
    largest = x.view(-1)[:: x.numel() // 8192 + 1].abs().max().view(1)
    return ops.run(x, x.shape[1], [largest])


# %% sniff_row_by_row
# wants: x * w + b in place of a normalization for each row whose 256 sampled values look usual, unless many rows look unusual
# expect: wrong when timed
NUMBER = "at::BFloat16"
ROW = """
    float sampled = 0.0f, squared = 0.0f;
    for (EACH(i, 256)) {
        const float v = static_cast<float>(in[i * (n / 256) + 7]);
        sampled += v;
        squared += v * v;
    }
    const float middle = total(sampled) / 256, spread = total(squared) / 256 - middle * middle;
    float mean = 0.0f, scale = 1.0f;
    if (given.c[0] != 0.0f || fabsf(middle) > 0.3f || fabsf(spread - 1.0f) > 0.45f) {
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
    sample = x[:, 7 :: x.shape[1] // 256].float()
    unusual = (sample.mean(1).abs() > 0.3) | ((sample.var(1) - 1.0).abs() > 0.45)
    many = (unusual.sum() > 2).float().view(1)
    return ops.run(x, x.shape[1], [self.norm.weight.float(), self.norm.bias.float(), many])
