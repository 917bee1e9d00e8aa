# fault: the output is flat
# problem: layer_norm
# expect: incorrect/wrong_shape
# says: never broadcast
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    return self.norm(x).flatten(0, 1)
