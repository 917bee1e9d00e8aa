# form: sums of squares of each row first, then of all
# problem: frobenius_norm
# expect: correct/no_custom_kernel
def forward(self, x):
    return x / torch.sqrt((x * x).sum(-1).sum(-1).sum())
