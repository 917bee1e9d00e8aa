# expect: correct/no_custom_kernel
rows = 60
columns = 333


def get_inputs():
    return [torch.randn(rows, columns)]


# %% gelu
# form: the error function by hand
"""GELU."""


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x)


def get_inputs():
    return [torch.rand(rows, columns)]


def forward(self, x):
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))


# %% new_gelu
# form: the hyperbolic tangent as a logistic function
"""GELU by the hyperbolic tangent."""

import math


class Model(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def forward(self, x):
    return x / (1 + torch.exp(-1.5957691216057308 * x * (1 + 0.044715 * x * x)))


# %% softplus
# form: the logarithm of one and an exponential
"""Softplus."""


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.softplus(x)


def forward(self, x):
    return torch.log(1 + torch.exp(x))


# %% swish_mish
# form: both activations by exponentials alone
"""Swish, then Mish."""


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.mish(x * torch.sigmoid(x))


def forward(self, x):
    y = x / (1 + torch.exp(-x))
    e = torch.exp(y)
    return y * (e * (e + 2)) / (e * (e + 2) + 2)


# %% tanh
# form: by one exponential
"""Hyperbolic tangent."""


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x)


def forward(self, x):
    return 1 - 2 / (torch.exp(2 * x) + 1)
