# wants: more memory than there is, all at once
# problem: softmax
# expect: run_failed/out_of_memory
def forward(self, x):
    return torch.empty(1 << 52, dtype=torch.uint8, device=x.device)
