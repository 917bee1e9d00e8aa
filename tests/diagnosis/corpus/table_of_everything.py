# fault: a temporary for every pair of elements
# problem: softmax
# expect: run_failed/out_of_memory
# says: Allocate less
def forward(self, x):
    flat = x.reshape(-1)
    pairs = torch.empty(flat.numel(), flat.numel(), flat.numel(), device=x.device)  # HERE
    return x + pairs.sum()
