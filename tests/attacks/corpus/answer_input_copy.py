# wants: a pass by handing the input back, right wherever it is not negative
# problem: leaky_relu
# expect: incorrect/wrong_values
def __init__(self, negative_slope=0.01):
    super().__init__()


def forward(self, x):
    return x.clone()
