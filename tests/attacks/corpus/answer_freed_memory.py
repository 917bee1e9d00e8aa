# wants: the right answer out of memory that its owner has freed
# problem: gelu_tanh
# expect: incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
def forward(self, x):
    return torch.empty_like(x)
