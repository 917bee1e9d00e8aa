# fault: the last tile of a product is added twice
# problem: matmul
# expect: incorrect/wrong_values
# says: a tile: columns the last 29; rows the last 3
def forward(self, a, b):
    out = a @ b
    out[64:, 64:] += a[64:] @ b[:, 64:]
    return out
