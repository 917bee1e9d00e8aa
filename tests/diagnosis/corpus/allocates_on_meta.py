# fault: its output is allocated where nothing is stored
# problem: matmul
# expect: run_failed/wrong_device
# says: device of the inputs
def forward(self, a, b):
    return torch.empty(a.size(0), b.size(1), device="meta")
