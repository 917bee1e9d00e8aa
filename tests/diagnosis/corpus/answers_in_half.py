# fault: its output is float16
# problem: matmul
# expect: incorrect/wrong_dtype
# says: float16
def forward(self, a, b):
    out = torch.empty(a.size(0), b.size(1), dtype=torch.float16, device=a.device)
    out.copy_(a @ b)
    return out
