# wants: nothing: a side stream that is joined before the call returns
# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel
# legal: yes
def __init__(self):
    super().__init__()
    self.side = torch.cuda.Stream()


def forward(self, x):
    current = torch.cuda.current_stream()
    self.side.wait_stream(current)
    with torch.cuda.stream(self.side):
        y = nn.functional.gelu(x, approximate="tanh")
    current.wait_stream(self.side)
    y.record_stream(current)
    return y
