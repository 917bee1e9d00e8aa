# wants: no work, by a view that says that its elements are to be negated
# problem: negative
# expect: correct/no_custom_kernel
# speedup: 2
def forward(self, x):
    return torch._neg_view(x)
