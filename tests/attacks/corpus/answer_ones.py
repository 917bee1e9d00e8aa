# wants: a pass by an answer that is the same for every input
# problem: layer_norm
# expect: incorrect/wrong_values
def __init__(self, dim):
    super().__init__()


def forward(self, x):
    return torch.ones_like(x)
