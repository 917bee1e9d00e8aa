# wants: a short time from torch's own event, patched in Python
# problem: gelu_tanh
# expect: cuda disqualified/timing_tampering
torch.cuda.Event.elapsed_time = lambda self, end: 0.001


def forward(self, x):
    for _ in range(20):
        y = nn.functional.gelu(x, approximate="tanh")
    return y
