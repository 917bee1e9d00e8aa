# form: each layer fused with its ReLU, so that the last one has the number of the reference's second
# problem: linears_renumbered
# expect: correct/no_custom_kernel
class LinearReLU(nn.Linear):
    def forward(self, x):
        y = x @ self.weight.T + self.bias
        return torch.where(y > 0, y, 0.0)


def __init__(self, width):
    super().__init__()
    self.layers = nn.Sequential(LinearReLU(width, width), LinearReLU(width, width), nn.Linear(width, width))


def forward(self, x):
    return self.layers(x)
