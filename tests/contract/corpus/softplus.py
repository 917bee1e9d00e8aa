# form: the logarithm of one and an exponential
# problem: softplus
# expect: correct/no_custom_kernel
def forward(self, x):
    return torch.log(1 + torch.exp(x))
