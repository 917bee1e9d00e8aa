# wants: a pass with one element wrong among many
# problem: gelu_tanh
# expect: incorrect/wrong_values
def forward(self, x):
    y = nn.functional.gelu(x, approximate="tanh")
    y.view(-1)[y.numel() // 2] += 1.0
    return y
