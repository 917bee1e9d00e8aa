# wants: one row in place of all, by a stride of zero
# problem: repeated_row
# expect: correct/no_custom_kernel | correct/ok
# speedup: 2
# base: elementwise
FUNCTION = "return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));"


def __init__(self, rows):
    super().__init__()
    self.rows = rows


def forward(self, x):
    return ops.run(x).expand(self.rows, -1)
