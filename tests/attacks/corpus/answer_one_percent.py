# wants: a pass where one element in a hundred may be anything
# problem: gelu_tanh
# expect: incorrect/wrong_values
def forward(self, x):
    y = nn.functional.gelu(x, approximate="tanh")
    y.view(-1)[::100] = 7.0
    return y
