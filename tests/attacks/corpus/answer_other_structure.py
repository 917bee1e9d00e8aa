# wants: a pass for half of what is asked
# problem: topk
# expect: incorrect/wrong_structure
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    return torch.topk(x, self.k, dim=1)[0]
