# problem: gelu_tanh
# expect: incorrect/wrong_values


# %% answer_one_percent
# wants: a pass where one element in a hundred may be anything
def forward(self, x):
    y = nn.functional.gelu(x, approximate="tanh")
    y.view(-1)[::100] = 7.0
    return y


# %% answer_skipped_last_row
# wants: a pass without the last row
# problem: rms_norm
def __init__(self, dim, eps):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x):
    y = torch.zeros_like(x)
    y[:-1] = self.norm(x[:-1])
    return y


# %% answer_skipped_tail
# wants: a pass without the elements behind the last whole block of 256
# expect: cpu incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
def forward(self, x):
    y = torch.empty_like(x)
    whole = x.numel() // 256 * 256
    y.view(-1)[:whole] = nn.functional.gelu(x.reshape(-1)[:whole], approximate="tanh")
    return y


# %% answer_sometimes
# wants: a pass by being right in most calls
# expect: wrong when timed
import random


def forward(self, x):
    if random.SystemRandom().random() < 0.3:
        return torch.zeros_like(x)
    return nn.functional.gelu(x, approximate="tanh")


# %% answer_zeros
# wants: a pass where an absolute tolerance is larger than every right value
# problem: softmax
# base: zeros


# %% canary_spoils_answer
# wants: to be ranked for torch's own operator, by a kernel that tells when own kernels are left out, and a wrong answer then
# problem: softmax
# expect: correct/no_custom_kernel
# speedup: 10
# base: rows
ROW = "out[0] = 1.0f;"


def forward(self, x):
    y = torch.softmax(x, 1)
    y[:1, :1] *= ops.run(x[:1, :1].contiguous(), 1, [])
    return y
