# wants: a pass without the parameters, where the judge's are the ones that every layer starts with
# problem: layer_norm
# expect: incorrect/wrong_values
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return nn.functional.layer_norm(x, (self.dim,))
