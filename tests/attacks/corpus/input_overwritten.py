# wants: half the memory traffic by writing the answer over the input
# problem: leaky_relu
# expect: incorrect/mutated_input
def __init__(self, negative_slope=0.01):
    super().__init__()
    self.slope = negative_slope


def forward(self, x):
    return nn.functional.leaky_relu_(x, self.slope)
