# form: the logarithm of the sum, without the maximum
# problem: log_softmax_rows
# expect: correct/no_custom_kernel
def __init__(self, dim=1):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return x - torch.log(torch.exp(x).sum(self.dim, keepdim=True))
