# wants: a pass for indices as floats, where integers are compared as floats
# problem: topk
# expect: incorrect/wrong_dtype
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x, self.k, dim=1)
    return values, indices.float()
