# wants: a slow baseline, by leaving long kernels on a side stream whenever its own call is over
# problem: gelu_tanh
# expect: cuda disqualified/escaped_stream | disqualified/deferred_work | disqualified/timing_tampering
HONEST_CALLS = 16


def __init__(self):
    super().__init__()
    self.calls, self.side = 0, torch.cuda.Stream(priority=-1)


def forward(self, x):
    self.calls += 1
    y = nn.functional.gelu(x, approximate="tanh")
    if self.calls > HONEST_CALLS:
        with torch.cuda.stream(self.side):
            for _ in range(50):
                self.junk = x.square()
    return y
