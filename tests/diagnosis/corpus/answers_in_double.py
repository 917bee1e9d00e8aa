# fault: it computes in double and stays there
# problem: softmax
# expect: incorrect/wrong_dtype
# says: float64
def forward(self, x):
    wide = x.double()
    return (wide - wide.amax(1, keepdim=True)).softmax(1)
