# form: a list of parameters in place of a list of modules
# problem: module_list
# expect: correct/no_custom_kernel
import itertools


def __init__(self, sizes):
    super().__init__()
    self.parts = nn.ParameterList()
    for a, b in itertools.pairwise(sizes):
        self.parts.extend(nn.Linear(a, b).parameters())


def forward(self, x):
    for weight, bias in zip(self.parts[::2], self.parts[1::2], strict=True):
        x = torch.addmm(bias, x, weight.T)
        x = x / (1 + torch.exp(-x))
    return x
