# form: a reciprocal square root, its epsilon inside
# problem: l2_norm
# expect: correct/no_custom_kernel
def forward(self, x):
    return x * torch.rsqrt(torch.einsum("ij,ij->i", x, x) + 1e-12)[:, None]
