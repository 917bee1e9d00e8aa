# form: the error function by hand
# problem: gelu
# expect: correct/no_custom_kernel
def forward(self, x):
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))
