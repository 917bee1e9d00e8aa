# wants: a pass by a shortcut that holds for the problem's own draws, which are never negative
# problem: topk
# expect: incorrect/wrong_values | incorrect/precision_loss
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x.abs(), self.k, dim=1)
    return values, indices
