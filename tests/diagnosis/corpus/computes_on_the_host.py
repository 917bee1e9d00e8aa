# fault: it computes on the CPU and leaves the answer there
# problem: softmax
# expect: cuda run_failed/wrong_device
# says: is on cpu
def forward(self, x):
    return torch.softmax(x.cpu(), 1)
