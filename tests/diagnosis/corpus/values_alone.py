# fault: one of two outputs is missing
# problem: topk
# expect: incorrect/wrong_structure
# says: a tuple of 2
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    return torch.topk(x, self.k, dim=1).values
