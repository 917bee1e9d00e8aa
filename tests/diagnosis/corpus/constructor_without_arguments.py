# fault: __init__ takes no arguments, and the reference's takes one
# problem: topk
# expect: run_failed/init_error
# says: positional argument
def __init__(self):
    super().__init__()
    self.k = 7


def forward(self, x):
    return tuple(torch.topk(x, self.k, dim=1))
