# wants: a pass by the mean of every row, which no absolute tolerance tells from the right values
# problem: softmax
# expect: incorrect/wrong_values
def forward(self, x):
    return torch.full_like(x, 1.0 / x.shape[1])
