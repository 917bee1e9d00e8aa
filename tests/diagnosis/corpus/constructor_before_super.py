# fault: a module is assigned before Module.__init__()
# problem: layer_norm
# expect: run_failed/init_error
# says: before Module.__init__() call
def __init__(self, dim):
    self.norm = nn.LayerNorm(dim)  # HERE
    super().__init__()


def forward(self, x):
    return self.norm(x)
