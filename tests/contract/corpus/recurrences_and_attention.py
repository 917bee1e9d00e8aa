# expect: correct/no_custom_kernel


# %% causal_self_attention
# form: keys in blocks, with a running maximum and a running sum
"""Causal self-attention of several heads, with dropout."""

import math

batch_size = 3
length = 40
width = 48
heads = 4


class Model(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = self.dropout(torch.softmax(scores, dim=-1)) @ v
        return self.dropout(self.c_proj(y.transpose(1, 2).reshape(batch, length, width)))


def get_inputs():
    return [torch.randn(batch_size, length, width)]


def get_init_inputs():
    return [width, heads, length]


BLOCK = 16


def __init__(self, width, heads, length):
    super().__init__()
    self.c_attn = nn.Linear(width, 3 * width)
    self.c_proj = nn.Linear(width, width)
    self.heads = heads


def forward(self, x):
    batch, length, width = x.shape
    q, k, v = self.c_attn(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
    q = q * q.shape[-1] ** -0.5
    rows = torch.arange(length, device=x.device)[:, None]
    largest = torch.full_like(q[..., :1], -torch.inf)
    total, y = torch.zeros_like(largest), torch.zeros_like(q)
    for start in range(0, length, BLOCK):
        keys = torch.arange(start, min(start + BLOCK, length), device=x.device)
        scores = torch.where(keys <= rows, q @ k[:, :, keys].transpose(2, 3), -torch.inf)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights, old = torch.exp(scores - new), torch.exp(largest - new)
        total, y, largest = total * old + weights.sum(-1, keepdim=True), y * old + weights @ v[:, :, keys], new
    return self.c_proj((y / total).transpose(1, 2).reshape(batch, length, width))


# %% gru
# form: two layers written out, all inputs' products ahead of the steps
"""A GRU of two layers, its steps first."""

length = 9
batch_size = 6
width = 18
hidden = 22


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gru = nn.GRU(width, hidden, num_layers=2)

    def forward(self, x, h0):
        return self.gru(x, h0)


def get_inputs():
    return [torch.rand(length, batch_size, width), torch.rand(2, batch_size, hidden)]


def get_init_inputs():
    return [width, hidden]


def __init__(self, width, hidden):
    super().__init__()
    self.gru = nn.GRU(width, hidden, num_layers=2)


def forward(self, x, h0):
    last = []
    for h, (weight, recurrent, bias, recurrent_bias) in zip(h0, self.gru.all_weights, strict=True):
        steps = []
        for ahead in (x @ weight.T + bias).unbind(0):
            ar, az, an = ahead.chunk(3, 1)
            br, bz, bn = (h @ recurrent.T + recurrent_bias).chunk(3, 1)
            keep = 1 / (1 + torch.exp(-(az + bz)))
            h = (1 - keep) * torch.tanh(an + bn / (1 + torch.exp(-(ar + br)))) + keep * h
            steps.append(h)
        x = torch.stack(steps)
        last.append(h)
    return x, torch.stack(last)


# %% lstm
# form: its four gates written out, with activations by exponentials
"""An LSTM and a linear layer on its last step."""

batch_size = 5
length = 12
width = 20
hidden = 24
classes = 6


class Model(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x, h0, c0):
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1])


def get_inputs():
    return [torch.rand(batch_size, length, width), torch.rand(1, batch_size, hidden), torch.rand(1, batch_size, hidden)]


def get_init_inputs():
    return [width, hidden, classes]


def __init__(self, width, hidden, classes):
    super().__init__()
    self.lstm = nn.LSTM(width, hidden, batch_first=True)
    self.fc = nn.Linear(hidden, classes)


def logistic(x):
    return 1 / (1 + torch.exp(-x))


def forward(self, x, h0, c0):
    h, c, lstm = h0[0], c0[0], self.lstm
    for step in x.unbind(1):
        gates = torch.cat([step, h], 1) @ torch.cat([lstm.weight_ih_l0, lstm.weight_hh_l0], 1).T
        i, f, g, o = (gates + (lstm.bias_ih_l0 + lstm.bias_hh_l0)).chunk(4, 1)
        c = logistic(f) * c + logistic(i) * (2 * logistic(2 * g) - 1)
        h = logistic(o) * (2 * logistic(2 * c) - 1)
    return h @ self.fc.weight.T + self.fc.bias


# %% parameters_renamed
# form: parameters under names of its own, one of them transposed
"""A linear layer, layer normalization and a factor for each feature."""

batch_size = 50
width = 80
hidden = 60


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.linear = nn.Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.scale = nn.Parameter(torch.randn(hidden))

    def forward(self, x):
        return self.norm(self.linear(x)) * self.scale


def get_inputs():
    return [torch.randn(batch_size, width)]


def get_init_inputs():
    return [width, hidden]


def __init__(self, width, hidden):
    super().__init__()
    drawn = nn.Linear(width, hidden)
    self.matrix = nn.Parameter(drawn.weight.detach().T.contiguous())
    self.offset = nn.Parameter(drawn.bias.detach())
    self.gain = nn.Parameter(torch.randn(hidden))


def forward(self, x):
    y = x @ self.matrix + self.offset
    mean = y.mean(1, keepdim=True)
    variance = (y * y).mean(1, keepdim=True) - mean * mean
    return (y - mean) * torch.rsqrt(variance + 1e-5) * self.gain
