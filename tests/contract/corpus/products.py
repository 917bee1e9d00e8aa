# expect: correct/no_custom_kernel
import itertools

# %% cholesky
# form: column by column
"""The Cholesky factor of a positive definite matrix."""

size = 40


class Model(nn.Module):
    def forward(self, a):
        return torch.linalg.cholesky(a)


def get_inputs():
    x = torch.randn(size, 2 * size)
    return [x @ x.T / (2 * size) + 0.1 * torch.eye(size)]


def forward(self, a):
    factor = torch.zeros_like(a)
    for j in range(a.shape[0]):
        column = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = column / torch.sqrt(column[0])
    return factor


# %% diagonal_product
# form: rows scaled, without the matrix
"""A diagonal matrix times a full one."""

rows = 120
columns = 77


class Model(nn.Module):
    def forward(self, a, b):
        return torch.diag(a) @ b


def get_inputs():
    return [torch.rand(rows), torch.rand(rows, columns)]


def forward(self, a, b):
    return a[:, None] * b


# %% gemm_scale_clamp
# form: a product in blocks of the inner dimension, and the factor applied to the weight
"""A linear layer, a factor, a clamp and GELU."""

batch_size = 64
width = 300
hidden = 90
factor = 0.5


class Model(nn.Module):
    def __init__(self, width, hidden, factor):
        super().__init__()
        self.gemm = nn.Linear(width, hidden)
        self.factor = factor

    def forward(self, x):
        return nn.functional.gelu(nn.functional.hardtanh(self.gemm(x) * self.factor, -1.0, 1.0))


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width, hidden, factor]


def __init__(self, width, hidden, factor):
    super().__init__()
    self.gemm = nn.Linear(width, hidden)
    self.factor = factor


def forward(self, x):
    y = self.gemm.bias * self.factor
    for start in range(0, x.shape[1], 64):
        y = y + x[:, start : start + 64] @ (self.gemm.weight[:, start : start + 64] * self.factor).T
    y = torch.where(y > 1, 1.0, torch.where(y < -1, -1.0, y))
    return 0.5 * y * (1 + torch.erf(y / 2**0.5))


# %% linears_renumbered
# form: each layer fused with its ReLU, so that the last one has the number of the reference's second
"""Linear layers of one width with ReLU between them."""

batch_size = 50
width = 72


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width]


class LinearReLU(nn.Linear):
    def forward(self, x):
        y = x @ self.weight.T + self.bias
        return torch.where(y > 0, y, 0.0)


def __init__(self, width):
    super().__init__()
    self.layers = nn.Sequential(LinearReLU(width, width), LinearReLU(width, width), nn.Linear(width, width))


def forward(self, x):
    return self.layers(x)


# %% lower_triangular_product
# form: sums over the terms between both triangles only
"""The product of two lower triangular matrices."""

size = 150


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(torch.matmul(a, b))


def get_inputs():
    return [torch.tril(torch.rand(size, size)), torch.tril(torch.rand(size, size))]


def forward(self, a, b):
    product = torch.zeros_like(a)
    for start in range(0, a.shape[0], 32):
        rows, end = slice(start, start + 32), start + 32
        product[rows, :end] = a[rows, :end] @ b[:end, :end]
    return product


# %% mlp
# form: products in blocks of the inner dimension
"""A multilayer perceptron."""

batch_size = 30
width = 100
hidden = [80, 80]
classes = 10


class Model(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        layers = []
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self.network = nn.Sequential(*layers, nn.Linear(width, classes))

    def forward(self, x):
        return self.network(x)


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width, hidden, classes]


def __init__(self, width, hidden, classes):
    super().__init__()
    sizes = [width, *hidden, classes]
    self.network = nn.Sequential()
    for a, b in itertools.pairwise(sizes):
        self.network.extend([nn.Linear(a, b), nn.ReLU()])


def product(x, weight):
    return sum(a @ b.T for a, b in zip(x.split(32, 1), weight.split(32, 1), strict=True))


def forward(self, x):
    layers = list(self.network)[::2]
    for layer in layers[:-1]:
        x = (product(x, layer.weight) + layer.bias).clamp(min=0)
    return product(x, layers[-1].weight) + layers[-1].bias


# %% module_list
# form: a list of parameters in place of a list of modules
"""A list of linear layers, each with a Swish."""

import itertools

batch_size = 40
sizes = [70, 50, 90, 20]


class Model(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.silu(layer(x))
        return x


def get_inputs():
    return [torch.randn(batch_size, sizes[0])]


def get_init_inputs():
    return [sizes]


def __init__(self, sizes):
    super().__init__()
    self.parts = nn.ParameterList()
    for a, b in itertools.pairwise(sizes):
        self.parts.extend(nn.Linear(a, b).parameters())


def forward(self, x):
    for weight, bias in zip(self.parts[::2], self.parts[1::2], strict=True):
        x = torch.addmm(bias, x, weight.T)
        x = x / (1 + torch.exp(-x))
    return x


# %% scalar_factor
# form: the factor in a tensor of its own
"""A matrix times a number, plus another."""

rows = 70
columns = 130


class Model(nn.Module):
    def forward(self, a, factor, term):
        return a * factor + term


def get_inputs():
    return [torch.rand(rows, columns), 3.14, 2]


def forward(self, a, factor, term):
    return torch.full_like(a, term).addcmul(a, torch.full_like(a, factor))


# %% symmetric_product
# form: reads one triangle of the left matrix
"""The product of two symmetric matrices."""

size = 110


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    a, b = torch.rand(size, size), torch.rand(size, size)
    return [(a + a.T) / 2, (b + b.T) / 2]


def forward(self, a, b):
    below = torch.tril(a, -1)
    return below @ b + a.diagonal()[:, None] * b + below.T @ b


# %% upper_triangular_product
# form: outer products of a column's head and a row's tail
"""The product of two upper triangular matrices."""

size = 97


class Model(nn.Module):
    def forward(self, a, b):
        return torch.triu(torch.matmul(a, b))


def get_inputs():
    return [torch.triu(torch.randn(size, size)), torch.triu(torch.randn(size, size))]


def forward(self, a, b):
    product = torch.zeros_like(a)
    for k in range(a.shape[0]):
        product[: k + 1, k:] += torch.outer(a[: k + 1, k], b[k, k:])
    return product
