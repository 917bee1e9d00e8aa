# fault: the function is inside a namespace, and bound without it
# problem: softmax
# expect: cpu build_failed/missing_binding
# says: 'row_softmax' was not declared
# base: extension
SOURCE = """
namespace fast {
torch::Tensor row_softmax(torch::Tensor x) {
    auto powers = (x - x.amax(1, true)).exp();
    return powers / powers.sum(1, true);
}
}
"""


def __init__(self):
    super().__init__()
    self.ops = load_inline(name="fast_softmax", cpp_sources=SOURCE, functions="row_softmax")  # HERE


def forward(self, x):
    return self.ops.row_softmax(x)
