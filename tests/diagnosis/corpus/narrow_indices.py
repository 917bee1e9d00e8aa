# fault: indices as int32
# problem: topk
# expect: incorrect/wrong_dtype
# says: int32
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x, self.k, dim=1)
    return values, indices.to(torch.int32)
