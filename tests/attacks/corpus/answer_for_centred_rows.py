# wants: a pass by leaving the mean out, which holds for rows drawn around zero
# problem: layer_norm
# expect: incorrect/wrong_values
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.norm.eps)
    return x * scale * self.norm.weight + self.norm.bias
