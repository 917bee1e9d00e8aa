# wants: work on a side stream, which the events on the current one don't see
# problem: gelu_tanh
# expect: cuda disqualified/escaped_stream | disqualified/timing_tampering | disqualified/deferred_work
def __init__(self):
    super().__init__()
    self.side = torch.cuda.Stream()


def forward(self, x):
    with torch.cuda.stream(self.side):
        return nn.functional.gelu(x, approximate="tanh")
