# fault: TORCH_CHECK in its extension refuses the input
# problem: gelu_tanh
# expect: cpu run_failed/python_exception
# says: expected a multiple of 4 columns
# base: extension
CPP = r"""
torch::Tensor gelu4(torch::Tensor x) {
    TORCH_CHECK(x.size(1) % 4 == 0, "expected a multiple of 4 columns, got ", x.size(1));
    return torch::gelu(x, "tanh");
}
"""


ops = load_inline(name="gelu_by_four", cpp_sources=CPP, functions=["gelu4"])


def forward(self, x):
    return ops.gelu4(x)  # HERE
