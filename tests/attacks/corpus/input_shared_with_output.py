# wants: to have the answer follow the input, by returning a view of the input's memory
# problem: sum_reduction
# expect: incorrect/wrong_values
def __init__(self, dim):
    super().__init__()


def forward(self, x):
    return x[:, :1]
