# wants: a pass by an infinite value, against which every relative error is nothing
# problem: softmax
# expect: incorrect/nan_or_inf
def forward(self, x):
    y = torch.softmax(x, 1)
    y[0, 0] = float("inf")
    return y
