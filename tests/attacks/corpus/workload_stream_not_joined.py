# wants: work on a side stream, in one of three workloads
# problem: gelu_in_sizes
# expect: cuda disqualified/escaped_stream | disqualified/timing_tampering | disqualified/deferred_work | disqualified/cached_output | correct/no_custom_kernel
# speedup: 1
def __init__(self):
    super().__init__()
    self.side = torch.cuda.Stream()


def forward(self, x):
    if x.size(0) != 2048:
        return nn.functional.gelu(x, approximate="tanh")
    with torch.cuda.stream(self.side):
        return nn.functional.gelu(x, approximate="tanh")
