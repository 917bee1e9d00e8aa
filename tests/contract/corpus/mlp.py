# form: products in blocks of the inner dimension
# problem: mlp
# expect: correct/no_custom_kernel
import itertools


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
