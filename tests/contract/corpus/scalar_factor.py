# form: the factor in a tensor of its own
# problem: scalar_factor
# expect: correct/no_custom_kernel
def forward(self, a, factor, term):
    return torch.full_like(a, term).addcmul(a, torch.full_like(a, factor))
