# fault: the product is computed in float16
# problem: matmul
# expect: incorrect/precision_loss
# says: every value is a number of float16
def forward(self, a, b):
    return ((a / 16).half() @ b.half()).float() * 16
