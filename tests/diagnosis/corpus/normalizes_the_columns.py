# fault: the softmax runs over the wrong dimension
# problem: softmax
# expect: incorrect/wrong_values
# says: expected
def forward(self, x):
    powers = torch.exp(x - x.amax(0, keepdim=True))
    return powers / powers.sum(0, keepdim=True)
