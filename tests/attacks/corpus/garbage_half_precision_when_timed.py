# wants: half precision in timed calls only
# problem: matmul
# expect: disqualified/cached_output | incorrect/precision_loss
# base: counts_calls
HONEST_CALLS = 16


def forward(self, a, b):
    self.calls += 1
    return a @ b if self.calls <= HONEST_CALLS else (a.bfloat16() @ b.bfloat16()).float()
