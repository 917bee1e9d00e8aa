# wants: a pass without the elements behind the last whole block of 256
# problem: gelu_tanh
# expect: cpu incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
def forward(self, x):
    y = torch.empty_like(x)
    whole = x.numel() // 256 * 256
    y.view(-1)[:whole] = nn.functional.gelu(x.reshape(-1)[:whole], approximate="tanh")
    return y
