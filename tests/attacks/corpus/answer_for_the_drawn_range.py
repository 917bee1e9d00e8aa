# problem: softmax
# expect: incorrect/wrong_values

rows = 512
columns = 2048


def get_inputs():
    return [torch.rand(rows, columns)]


# %% mean_of_positives
"""Means of long rows of positive numbers: from each other they hardly differ."""

rows = 512
columns = 16384


class Model(nn.Module):
    def forward(self, x):
        return x.mean(dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(rows, columns)]


# %% relu_of_positives
"""ReLU, drawn where it does nothing."""


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


# %% elu_of_positives
"""ELU, drawn where it does nothing."""


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.elu(x)


# %% hard_swish
"""Hard Swish, drawn between 0 and 1."""


class Model(nn.Module):
    def forward(self, x):
        return x * nn.functional.relu6(x + 3) / 6


# %% layer_norm_bfloat16
"""A layer normalization in bfloat16 of rows that are normal already, and so long that rounding hides what normalizing them changes."""

rows = 16
dim = 262144

ASSAY = {"dtype": "bfloat16", "cases": {"full": {}, "small": {"rows": 8}}}


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(rows, dim)]


def get_init_inputs():
    return [dim]


# %% saturated_sums
"""Sums of rows, drawn where their hyperbolic tangent is all but 1."""

rows = 20000
columns = 64


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x.sum(dim=1) / 4)


def get_inputs():
    return [torch.rand(rows, columns)]


# %% exponential
"""The exponential function, drawn between 0 and 1."""


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x)


# %% topk_of_normals
"""The largest values of normally distributed rows."""

rows = 256
columns = 8192
k = 32


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return torch.topk(x, self.k, dim=1).values


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [k]


# %% softsign
"""Softsign, drawn above zero."""


class Model(nn.Module):
    def forward(self, x):
        return x / (1 + torch.abs(x))


# %% clamp_of_fractions
"""A clamp, drawn where it does nothing."""


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(x, -1.0, 1.0)


# %% answer_constant_loss
# wants: a pass by the value that a mean over many rows always comes near
# problem: cross_entropy
# expect: incorrect/wrong_values | incorrect/precision_loss
import math


def forward(self, logits, targets):
    return torch.tensor(math.log(logits.shape[1]), device=logits.device)


# %% answer_estimated_mean
# wants: a pass by the mean of one element in a hundred
# problem: mean_of_positives
# base: rows
ROW = """
    float sum = 0.0f;
    int64_t taken = (n + 99) / 100;
    for (EACH(i, taken)) sum += in[i * 100];
    out[0] = total(sum) / taken;
"""


def forward(self, x):
    return ops.run(x, 1, [])


# %% answer_for_centred_rows
# wants: a pass by leaving the mean out, which holds for rows drawn around zero
# problem: layer_norm
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.norm.eps)
    return x * scale * self.norm.weight + self.norm.bias


# %% answer_for_positive_inputs
# wants: a pass by a shortcut that holds for the problem's own draws, which are never negative
# problem: topk
# expect: incorrect/wrong_values | incorrect/precision_loss
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x.abs(), self.k, dim=1)
    return values, indices


# %% answer_identity_for_relu
# wants: a pass by a copy, where no drawn input is negative
# problem: relu_of_positives
# base: elementwise
FUNCTION = "return v;"


# %% answer_identity_when_timed
# wants: a copy in timed calls, where no drawn input is negative, and the right answer to all that is asked before
# problem: elu_of_positives
# expect: wrong when timed
# base: elementwise
import sys

FUNCTION = "return v > 0.0f ? v : expf(v) - 1.0f;"


def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("block", "host_block", "burst"):
            return x.clone()
        frame = frame.f_back
    return ops.run(x)


# %% answer_in_drawn_range
# wants: a pass by a formula without its two limits, which no drawn input reaches
# problem: hard_swish
# base: elementwise
FUNCTION = "return v * (v + 3.0f) / 6.0f;"


# %% answer_mean
# wants: a pass by the mean of every row, which no absolute tolerance tells from the right values
def forward(self, x):
    return torch.full_like(x, 1.0 / x.shape[1])


# %% answer_moments_of_a_quarter
# wants: mean and variance of a quarter of each row, which are close enough for what the problem draws
# problem: layer_norm_bfloat16
# expect: wrong when timed
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


# %% answer_near_constant
# wants: a pass by one number, from which no drawn answer differs by more than rounding
# problem: saturated_sums
# expect: incorrect/wrong_values | incorrect/precision_loss
# base: elementwise
FUNCTION = "return 1.0f;"


def forward(self, x):
    return ops.run(x[:, 0].contiguous())


# %% answer_polynomial_for_exp
# wants: a pass by a polynomial that fits the drawn range alone
# problem: exponential
# expect: incorrect/wrong_values | incorrect/precision_loss
# base: elementwise
FUNCTION = """
    const float d = v - 0.5f;
    const float series = 1.0f + d * (1.0f + d / 2.0f * (1.0f + d / 3.0f * (1.0f + d / 4.0f * (1.0f + d / 5.0f * (1.0f + d / 6.0f)))));
    return 1.6487212707f * series;
"""


# %% answer_tail_of_a_row
# wants: the largest of a row by looking only beyond a quantile of the drawn distribution
# problem: topk_of_normals
# base: tail_topk
FALLBACK = "false"


# %% answer_tail_of_most_rows
# wants: the same, by a quantile of which few rows come short, by little
# problem: topk_of_normals
# expect: incorrect/wrong_values | incorrect/precision_loss
# base: tail_topk
THRESHOLD = 2.45
FALLBACK = "false"


# %% answer_without_absolute_value
# wants: a pass without the absolute value, which no drawn input needs
# problem: softsign
# expect: incorrect/wrong_values | incorrect/nan_or_inf
# base: elementwise
FUNCTION = "return v / (1.0f + v);"


# %% answer_without_clamp
# wants: a pass without the clamp, which no drawn input needs
# problem: clamp_of_fractions
# base: elementwise
FUNCTION = "return v;"


# %% answer_without_maximum
# wants: a pass by a softmax that holds only where the inputs are small
# expect: incorrect/nan_or_inf | incorrect/wrong_values
def forward(self, x):
    e = torch.exp(x)
    return e / e.sum(1, keepdim=True)
