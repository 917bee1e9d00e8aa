# wants: a pass for an index that is off by one, where integers are compared with a tolerance
# problem: topk
# expect: incorrect/wrong_values
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x, self.k, dim=1)
    indices[-1, -1] += 1 if indices[-1, -1] == 0 else -1
    return values, indices
