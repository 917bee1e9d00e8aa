# form: the sum of all less the sum before
# problem: reverse_cumsum
# expect: correct/no_custom_kernel
def forward(self, x):
    return x.sum(1, keepdim=True) - x.cumsum(1) + x
