# form: the hyperbolic tangent as a logistic function
# problem: new_gelu
# expect: correct/no_custom_kernel
def forward(self, x):
    return x / (1 + torch.exp(-1.5957691216057308 * x * (1 + 0.044715 * x * x)))
