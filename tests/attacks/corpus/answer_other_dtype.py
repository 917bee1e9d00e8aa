# wants: a pass for float64, where the comparison casts
# problem: gelu_tanh
# expect: incorrect/wrong_dtype
def forward(self, x):
    return nn.functional.gelu(x.double(), approximate="tanh")
