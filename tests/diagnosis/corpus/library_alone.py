# fault: right, and nothing in it is its own
# problem: gelu_tanh
# expect: correct/no_custom_kernel
# says: it has no kernel
def forward(self, x):
    return torch.nn.functional.gelu(x, approximate="tanh")
