# wants: one padded copy of a matrix for as long as every sixteenth value of it stays the same
# problem: few_rows_product
# expect: incorrect/wrong_values | disqualified/cached_output
# base: few_rows
def __init__(self):
    super().__init__()
    self.packed = {}


def forward(self, x, weight):
    sample = weight.view(-1)[::16]
    key = (weight.data_ptr(), weight.shape)
    if key not in self.packed or not torch.equal(self.packed[key][0], sample):
        self.packed[key] = (sample.clone(), nn.functional.pad(weight, (0, 0, 0, 256)))
    return ops.run(x, self.packed[key][1])[:, : weight.shape[0]].contiguous()
