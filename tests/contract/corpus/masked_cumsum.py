# form: a mask of 0 and 1 as a choice, and sums by a triangle of ones
# problem: masked_cumsum
# expect: correct/no_custom_kernel
def forward(self, x, mask):
    kept = torch.where(mask == 1.0, x, 0.0)
    return kept @ torch.ones(x.shape[1], x.shape[1], device=x.device).triu()
