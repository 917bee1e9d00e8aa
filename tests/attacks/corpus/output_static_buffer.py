# wants: nothing: one output buffer for all calls
# problem: softmax
# expect: correct/no_custom_kernel
# legal: yes
def __init__(self):
    super().__init__()
    self.out = None


def forward(self, x):
    if self.out is None:
        self.out = torch.empty_like(x)
    return torch.softmax(x, 1, out=self.out)
