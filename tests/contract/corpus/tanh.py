# form: by one exponential
# problem: tanh
# expect: correct/no_custom_kernel
def forward(self, x):
    return 1 - 2 / (torch.exp(2 * x) + 1)
