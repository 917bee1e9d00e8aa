# form: blocks of 1000, of which the first with the least value wins
# problem: argmin_in_blocks
# expect: correct/no_custom_kernel
def __init__(self, dim):
    super().__init__()


def forward(self, x):
    least = torch.full_like(x[:, 0], torch.inf)
    place = torch.zeros_like(x[:, 0], dtype=torch.long)
    for start in range(0, x.shape[1], 1000):
        values, indices = x[:, start : start + 1000].min(1)
        place = torch.where(values < least, indices + start, place)
        least = torch.minimum(least, values)
    return place
