# fault: its extension is called, and the answer is the library's
# problem: leaky_relu
# expect: cpu correct/no_custom_kernel
# says: still right
# base: extension
CPP = r"""
torch::Tensor touch(torch::Tensor x) {
    return x.clone();
}
"""


ops = load_inline(name="touching", cpp_sources=CPP, functions=["touch"])


def forward(self, x):
    ops.touch(x)
    return torch.nn.functional.leaky_relu(x, 0.01)
