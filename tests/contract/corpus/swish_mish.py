# form: both activations by exponentials alone
# problem: swish_mish
# expect: correct/no_custom_kernel
def forward(self, x):
    y = x / (1 + torch.exp(-x))
    e = torch.exp(y)
    return y * (e * (e + 2)) / (e * (e + 2) + 2)
