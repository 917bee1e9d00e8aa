# fault: rows beyond a multiple of eight are never written
# problem: layer_norm
# expect: incorrect/unwritten_output
# says: never written
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    rows = x.reshape(-1, x.size(-1))
    out = torch.empty_like(rows)
    whole = rows.size(0) // 8 * 8
    if whole == rows.size(0):
        whole -= 1
    out[:whole] = self.norm(rows[:whole])
    return out.view_as(x)
