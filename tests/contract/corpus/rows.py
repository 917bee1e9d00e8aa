# expect: correct/no_custom_kernel


# %% argmax_of_ties
# form: the least of all places that hold the maximum
"""Where the maximum stands, in long rows of few different values."""

rows = 12
columns = 20011


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randint(0, 12, (rows, columns)).float()]


def forward(self, x):
    places = torch.arange(x.shape[1], device=x.device)
    return torch.where(x == x.amax(1, keepdim=True), places, x.shape[1]).amin(1)


# %% argmin_in_blocks
# form: blocks of 1000, of which the first with the least value wins
"""Where the minimum stands along a long middle dimension."""

batch_size = 4
count = 30000
dim = 1


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.argmin(x, dim=self.dim)


def get_inputs():
    return [torch.rand(batch_size, count, 5)]


def get_init_inputs():
    return [dim]


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


# %% cumsum_in_blocks
# form: sums within blocks of 64 by a triangle of ones, then the blocks before
"""Running sums along the second dimension."""

rows = 33
columns = 640


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumsum(x, dim=self.dim)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [1]


BLOCK = 64


def __init__(self, dim):
    super().__init__()


def forward(self, x):
    blocks = x.view(x.shape[0], -1, BLOCK)
    within = blocks @ torch.ones(BLOCK, BLOCK, device=x.device).triu()
    for block in range(1, within.shape[1]):
        within[:, block] += within[:, block - 1, -1:]
    return within.reshape(x.shape)


# %% equal_inputs
# form: one triangle of the products, mirrored
"""The products of all rows with all rows: the second matrix is the first."""

rows = 90
columns = 60


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b.T


def get_inputs():
    x = torch.randn(rows, columns)
    return [x, x.clone()]


def forward(self, a, b):
    below = torch.tril(a @ b.T)
    return below + torch.tril(below, -1).T


# %% log_softmax_rows
# form: the logarithm of the sum, without the maximum
"""Logarithm of the softmax of rows."""

rows = 40
columns = 900


class Model(nn.Module):
    def __init__(self, dim=1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.log_softmax(x, dim=self.dim)


def get_inputs():
    return [torch.rand(rows, columns)]


def __init__(self, dim=1):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return x - torch.log(torch.exp(x).sum(self.dim, keepdim=True))


# %% masked_cumsum
# form: a mask of 0 and 1 as a choice, and sums by a triangle of ones
"""Running sums of the elements that a mask of 0.0 and 1.0 leaves."""

rows = 40
columns = 230


class Model(nn.Module):
    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=1)


def get_inputs():
    return [torch.rand(rows, columns), torch.randint(0, 2, (rows, columns)).float()]


def forward(self, x, mask):
    kept = torch.where(mask == 1.0, x, 0.0)
    return kept @ torch.ones(x.shape[1], x.shape[1], device=x.device).triu()


# %% mean_of_near_equals
# form: partial sums of 64 rows, added one after the other
"""Means of numbers that hardly differ."""

batch_size = 8
count = 512


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.mean(x, dim=self.dim)


def get_inputs():
    return [5 + 0.1 * torch.rand(batch_size, count, 33)]


def get_init_inputs():
    return [1]


def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    total = torch.zeros_like(x.select(self.dim, 0))
    for part in x.split(64, self.dim):
        total = total + part.sum(self.dim)
    return total / x.shape[self.dim]


# %% ordered_bounds
# form: the upper bound first
"""Numbers held between two bounds, of which the second is the larger."""

rows = 70
columns = 90


class Model(nn.Module):
    def forward(self, x, low, high):
        return torch.minimum(torch.maximum(x, low), high)


def get_inputs():
    low = torch.randn(rows, columns)
    return [torch.randn(rows, columns), low, low + torch.rand(rows, columns)]


def forward(self, x, low, high):
    return torch.maximum(torch.minimum(x, high), low)


# %% reverse_cumsum
# form: the sum of all less the sum before
"""Running sums from the right."""

rows = 33
columns = 257


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x.flip(1), dim=1).flip(1)


def get_inputs():
    return [torch.rand(rows, columns)]


def forward(self, x):
    return x.sum(1, keepdim=True) - x.cumsum(1) + x


# %% softmax_rows
# form: exponentials without the maximum
"""Softmax of rows."""

rows = 40
columns = 900


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(rows, columns)]


def forward(self, x):
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(1, keepdim=True)


# %% sorted_rows
# form: takes the ends and the middle of rows that come sorted
"""Spread and median of sorted rows."""

rows = 60
columns = 301


class Model(nn.Module):
    def forward(self, x):
        return x.amax(dim=1) - x.amin(dim=1), x.median(dim=1).values


def get_inputs():
    return [torch.sort(torch.randn(rows, columns), dim=1).values]


def forward(self, x):
    return x[:, -1] - x[:, 0], x[:, (x.shape[1] - 1) // 2]
