# form: keeps the four weights that were used last, packed, by address and version
# problem: few_rows_linear
# expect: correct/ok
# base: few_rows
from collections import OrderedDict

KEPT = 4


def __init__(self, in_features, out_features):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features, bias=False)
    self.packed: OrderedDict[tuple[int, int], torch.Tensor] = OrderedDict()


def packed_weight(self) -> torch.Tensor:
    weight = self.linear.weight
    key = (weight.data_ptr(), weight._version)
    if key not in self.packed:
        self.packed[key] = nn.functional.pad(weight.detach(), (0, 0, 0, -len(weight) % 256))
    self.packed.move_to_end(key)
    while len(self.packed) > KEPT:
        self.packed.popitem(last=False)
    return self.packed[key]


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return ops.run(x, self.packed_weight())[:, : self.linear.out_features].contiguous()
