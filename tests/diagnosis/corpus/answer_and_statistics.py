# fault: it returns its mean and deviation too
# problem: layer_norm
# expect: incorrect/wrong_structure
# says: a tensor
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    return {"out": self.norm(x), "mean": x.mean(-1), "deviation": x.std(-1)}
