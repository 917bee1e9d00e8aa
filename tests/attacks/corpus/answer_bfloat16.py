# wants: matrix units by computing in bfloat16
# problem: matmul
# expect: incorrect/precision_loss | incorrect/wrong_values
def forward(self, a, b):
    return (a.bfloat16() @ b.bfloat16()).float()
