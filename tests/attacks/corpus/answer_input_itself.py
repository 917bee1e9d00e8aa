# wants: a pass by the input itself, whose memory the judge has filled
# problem: gelu_tanh
# expect: incorrect/wrong_values
def forward(self, x):
    return x
