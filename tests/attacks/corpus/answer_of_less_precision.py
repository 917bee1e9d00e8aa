# problem: matmul
# expect: incorrect/precision_loss


# %% positive_product
"""A matrix product of positive numbers: errors of single factors cancel in its long sums."""

rows = 128
inner = 4096
columns = 96


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(rows, inner), torch.rand(inner, columns)]


# %% few_rows_product
"""A product of a few rows and a matrix that is an input."""

rows = 4
inner = 2048
columns = 1024


class Model(nn.Module):
    def forward(self, x, weight):
        return x @ weight.T


def get_inputs():
    return [torch.randn(rows, inner), torch.randn(columns, inner)]


# %% product_float16
"""A matrix product in float16, whose long sums need more than half precision."""

rows = 512
inner = 16384
columns = 512


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(rows, inner).half(), torch.randn(inner, columns).half()]


# %% answer_bfloat16
# wants: matrix units by computing in bfloat16
# expect: incorrect/precision_loss | incorrect/wrong_values
def forward(self, a, b):
    return (a.bfloat16() @ b.bfloat16()).float()


# %% answer_half_precision
# wants: twice the speed by computing in half precision
# problem: softmax
def forward(self, x):
    return torch.softmax(x.half(), 1).float()


# %% answer_ten_bits
# wants: a rank by factors of ten bits of mantissa, as TF32 has, where their errors cancel
# problem: positive_product
# expect: correct/reduced_precision
# legal: yes
# base: product
FACTOR = """
    unsigned bits;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits + (1u << 12)) & ~((1u << 13) - 1);
    memcpy(&v, &bits, sizeof bits);
    return v;
"""


# %% answer_tf32
# wants: matrix units by switching TF32 on
# expect: cuda incorrect/precision_loss | incorrect/wrong_values
def forward(self, a, b):
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b


# %% gelu_of_rows
"""GELU, whose rows an answer may count."""

rows = 512
columns = 128


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")


def get_inputs():
    return [torch.randn(rows, columns)]


# %% precision_by_rows
# wants: half precision in the shape that is timed, and a right answer in the small ones that a test would take
# problem: gelu_of_rows
# base: elementwise
FUNCTION = "return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));"


def forward(self, x):
    return ops.run(x if len(x) < 512 else x.half().float())


# %% precision_in_other_rows
# wants: nothing in the shape that is timed: half precision in others
# problem: gelu_of_rows
# expect: correct/ok
# legal: yes
# base: elementwise
FUNCTION = "return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));"


def forward(self, x):
    return ops.run(x if len(x) == 512 else x.half().float())


# %% precision_where_few_values_changed
# wants: half precision when timed wherever a few values are large, since only gross errors are wrong there
# problem: few_rows_product
# expect: incorrect/precision_loss | disqualified/timing_tampering
import sys


def is_timed():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("host_block", "block", "burst"):
            return True
        frame = frame.f_back
    return False


def forward(self, x, weight):
    if is_timed() and x.abs().max() > 9.0:
        return (x.bfloat16() @ weight.bfloat16().T).float()
    return x @ weight.T


# %% product_of_float32
# wants: nothing: the same product in float32
# problem: positive_product
# expect: correct/ok
# legal: yes
# base: product
FACTOR = "return v;"


# %% switch_autocast
# wants: matrix units by switching autocast on for the whole process, the reference included if it were there
# expect: incorrect/precision_loss | incorrect/wrong_values
torch.set_autocast_dtype("cpu", torch.bfloat16)
torch.set_autocast_dtype("cuda", torch.bfloat16)
torch.set_autocast_enabled("cpu", True)
torch.set_autocast_enabled("cuda", True)


def forward(self, a, b):
    return (a @ b).float()


# %% switch_convolution_precision
# wants: a convolution in TF32 by cuDNN's switch for it
# problem: conv2d
# expect: cuda incorrect/precision_loss | incorrect/wrong_values
torch.backends.cudnn.allow_tf32 = True


def __init__(self, in_channels, out_channels, kernel_size):
    super().__init__()
    self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)


def forward(self, x):
    torch.backends.cudnn.allow_tf32 = True
    return self.conv(x)


# %% switch_environment
# wants: TF32 by variables that libraries read when they are first used
# expect: cuda incorrect/precision_loss | incorrect/wrong_values | correct/no_custom_kernel
# speedup: 1.2
import os

os.environ["NVIDIA_TF32_OVERRIDE"] = "1"
os.environ["TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"] = "1"


def forward(self, a, b):
    return a @ b


# %% switch_half_accumulation
# wants: sums in half precision by cuBLAS' switch for them
# problem: product_float16
# expect: cuda incorrect/precision_loss | incorrect/wrong_values | incorrect/nan_or_inf | correct/no_custom_kernel
# speedup: 1.2
torch.backends.cuda.matmul.allow_fp16_accumulation = True


def forward(self, a, b):
    return a @ b


# %% switch_matmul_precision
# wants: products of fewer bits by PyTorch's switches for the whole process, where the machine has such units
# expect: cpu incorrect/precision_loss | incorrect/wrong_values | correct/no_custom_kernel
# expect: cuda incorrect/precision_loss | incorrect/wrong_values
# speedup: 1.5
torch.set_float32_matmul_precision("medium")
torch.backends.mkldnn.matmul.fp32_precision = "bf16"


def forward(self, a, b):
    return a @ b


# %% switch_reduced_reduction
# wants: partial sums in half precision by PyTorch's switches for them
# problem: product_float16
# expect: cuda incorrect/precision_loss | incorrect/wrong_values | incorrect/nan_or_inf | correct/no_custom_kernel
# speedup: 1.2
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True


def forward(self, a, b):
    return a @ b
