# form: its four gates written out, with activations by exponentials
# problem: lstm
# expect: correct/no_custom_kernel
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
