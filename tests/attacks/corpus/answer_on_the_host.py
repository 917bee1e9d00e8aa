# wants: to compute on another device than the one that is timed
# problem: gelu_tanh
# expect: cuda run_failed/wrong_device
def forward(self, x):
    return nn.functional.gelu(x.cpu(), approximate="tanh")
