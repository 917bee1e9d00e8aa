# form: a sum and one reciprocal in place of a mean and a division
# problem: l1_norm
# expect: correct/no_custom_kernel
def forward(self, x):
    return x * (x.shape[1] / torch.where(x < 0, -x, x).sum(1, keepdim=True))
