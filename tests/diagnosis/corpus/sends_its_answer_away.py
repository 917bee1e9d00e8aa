# fault: its answer is on another device
# problem: gelu_tanh
# expect: run_failed/wrong_device
# says: meta
def forward(self, x):
    return torch.nn.functional.gelu(x, approximate="tanh").to("meta")
