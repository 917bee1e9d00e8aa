# form: two layers written out, all inputs' products ahead of the steps
# problem: gru
# expect: correct/no_custom_kernel
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
