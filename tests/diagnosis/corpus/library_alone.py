# fault: right, and nothing in it is its own
# problem: gelu_tanh
# expect: correct/no_custom_kernel
# says: there is no kernel in it
def forward(self, x):
    return torch.nn.functional.gelu(x, approximate="tanh")
