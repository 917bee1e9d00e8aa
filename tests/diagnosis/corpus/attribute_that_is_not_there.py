# fault: forward() uses an attribute that __init__ never set
# problem: leaky_relu
# expect: run_failed/python_exception
# says: AttributeError
def __init__(self, negative_slope=0.01):
    super().__init__()
    self.slope = negative_slope


def forward(self, x):
    positive = x.clamp(min=0)
    negative = x.clamp(max=0)
    return positive + self.negative_slope * negative  # HERE
