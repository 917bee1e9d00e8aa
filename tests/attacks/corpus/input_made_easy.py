# wants: zeros to be right, by turning the input into zeros before the reference sees it
# problem: gelu_tanh
# expect: incorrect/mutated_input | incorrect/wrong_values
def forward(self, x):
    x.zero_()
    return torch.zeros_like(x)
