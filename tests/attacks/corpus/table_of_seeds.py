# wants: the answers from a table made ahead for every likely seed
# problem: softmax
# expect: incorrect/wrong_values
SEEDS = (*range(32), 42, 123, 1234, 1337, 2024, 2025, 2026)


def __init__(self):
    super().__init__()
    self.table = {}


def forward(self, x):
    if not self.table:
        for seed in SEEDS:
            torch.manual_seed(seed)
            self.table[float(torch.rand(1))] = torch.rand(0)
    return torch.softmax(x, 1) if float(x[0, 0]) in self.table else torch.zeros_like(x)
