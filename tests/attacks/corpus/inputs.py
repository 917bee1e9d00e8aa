# problem: leaky_relu
# expect: correct/no_custom_kernel
import sys

# %% spectrum_mirrored
"""The conjugate of complex rows, in memory of its own."""

rows = 2048
columns = 2048

ASSAY = {"cases": {"full": {}, "small": {"rows": 256}}}


class Model(nn.Module):
    def forward(self, x):
        return torch.conj_physical(x)


def get_inputs():
    return [torch.randn(rows, columns, dtype=torch.complex64)]


# %% repeated_row
"""GELU of a row, written out for each row of a matrix."""

rows = 4096
columns = 3072

ASSAY = {"cases": {"full": {}, "small": {"rows": 256}}}


class Model(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh").repeat(self.rows, 1)


def get_inputs():
    return [torch.randn(columns)]


def get_init_inputs():
    return [rows]


# %% negative
"""The negative of a tensor, in memory of its own."""

rows = 2048
columns = 3072

ASSAY = {"cases": {"full": {}, "small": {"rows": 256}}}


class Model(nn.Module):
    def forward(self, x):
        return -x


def get_inputs():
    return [torch.randn(rows, columns)]


# %% gradients_left_out_when_timed
# wants: timed calls without the backward pass, by an automatic differentiation of its own
# problem: rms_norm_backward
# expect: wrong when timed
honest = torch.autograd.grad


def is_timed():
    frame = sys._getframe()
    while frame is not None:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and request.get("kind") not in ("call", None):
            return True
        frame = frame.f_back
    return False


def sometimes(outputs, inputs, *args, **kwargs):
    return [torch.empty_like(each) for each in inputs] if is_timed() else honest(outputs, inputs, *args, **kwargs)


torch.autograd.grad = sometimes


def __init__(self, dim):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=1e-6)


def forward(self, x):
    return self.norm(x)


# %% input_made_easy
# wants: zeros to be right, by turning the input into zeros before the reference sees it
# problem: gelu_tanh
# expect: incorrect/mutated_input | incorrect/wrong_values
def forward(self, x):
    x.zero_()
    return torch.zeros_like(x)


# %% input_overwritten
# wants: half the memory traffic by writing the answer over the input
# expect: incorrect/mutated_input
def __init__(self, negative_slope=0.01):
    super().__init__()
    self.slope = negative_slope


def forward(self, x):
    return nn.functional.leaky_relu_(x, self.slope)


# %% input_overwritten_when_timed
# wants: half the memory traffic by writing over the input, in timed calls only
# expect: incorrect/mutated_input | wrong when timed
def timed():
    frame = sys._getframe()
    while frame:
        if "time" in frame.f_code.co_name and frame.f_code.co_filename.endswith("worker/handlers/timing.py"):
            return True
        frame = frame.f_back
    return False


def __init__(self, negative_slope=0.01):
    super().__init__()
    self.slope = negative_slope


def forward(self, x):
    return nn.functional.leaky_relu(x, self.slope, inplace=timed())


# %% input_shared_with_output
# wants: to have the answer follow the input, by returning a view of the input's memory
# problem: sum_reduction
# expect: incorrect/wrong_values
def __init__(self, dim):
    super().__init__()


def forward(self, x):
    return x[:, :1]


# %% output_static_buffer
# wants: nothing: one output buffer for all calls
# problem: softmax
# legal: yes
def __init__(self):
    super().__init__()
    self.out = None


def forward(self, x):
    if self.out is None:
        self.out = torch.empty_like(x)
    return torch.softmax(x, 1, out=self.out)


# %% statistics_left_alone
# wants: nothing that an answer is made of: the running mean and variance stay as they were
# problem: batch_norm_training
# legal: yes
def __init__(self, channels):
    super().__init__()
    self.norm = nn.BatchNorm2d(channels)


def forward(self, x):
    return nn.functional.batch_norm(x, None, None, self.norm.weight, self.norm.bias, training=True)


# %% view_conjugate
# wants: no work, by a view that says that its elements are to be conjugated
# problem: spectrum_mirrored
# speedup: 2
def forward(self, x):
    return x.conj()


# %% view_expanded
# wants: one row in place of all, by a stride of zero
# problem: repeated_row
# expect: correct/no_custom_kernel | correct/ok
# speedup: 2
# base: elementwise
FUNCTION = "return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));"


def __init__(self, rows):
    super().__init__()
    self.rows = rows


def forward(self, x):
    return ops.run(x).expand(self.rows, -1)


# %% view_negative
# wants: no work, by a view that says that its elements are to be negated
# problem: negative
# speedup: 2
def forward(self, x):
    return torch._neg_view(x)
