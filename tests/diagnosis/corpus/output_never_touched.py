# fault: the output is allocated and never written
# problem: gelu_tanh
# expect: incorrect/unwritten_output
# says: Cover every element
def forward(self, x):
    result = torch.nn.functional.gelu(x, approximate="tanh")
    out = torch.empty_like(x)
    result.copy_(out) if out.numel() == 0 else None
    return out
