# fault: functions= names the kernel, and not the function that launches it
# problem: leaky_relu
# expect: cpu build_failed/missing_binding
# says: 'leaky_relu_kernel' was not declared
# base: extension
CPP = """
torch::Tensor leaky_relu(torch::Tensor x) {
    return torch::where(x > 0, x, 0.01 * x);
}
"""


ops = load_inline(
    name="leaky_named",
    cpp_sources=CPP,
    functions=["leaky_relu_kernel"],  # HERE
)


def forward(self, x):
    return ops.leaky_relu_kernel(x)
