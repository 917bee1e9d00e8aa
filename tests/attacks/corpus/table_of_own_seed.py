# wants: the inputs foretold from the seed that the model was constructed with
# problem: gelu_tanh
# expect: incorrect/wrong_values
import random


def __init__(self):
    super().__init__()
    self.seed, self.state = torch.initial_seed(), random.getstate()


def forward(self, x):
    for seed in (self.seed, self.seed + 1, torch.initial_seed(), hash(self.state) & 0xFFFFFFFF):
        for device in {"cpu", x.device.type}:
            drawn = torch.randn(x.shape, generator=torch.Generator(device).manual_seed(seed), device=device)
            if torch.equal(drawn[:1].to(x.device), x[:1]):
                return nn.functional.gelu(x, approximate="tanh")
    return torch.zeros_like(x)
