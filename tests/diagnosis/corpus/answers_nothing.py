# fault: forward() has no return
# problem: leaky_relu
# expect: incorrect/wrong_structure
# says: None
def forward(self, x):
    out = torch.empty_like(x)
    torch.maximum(x, 0.01 * x, out=out)
