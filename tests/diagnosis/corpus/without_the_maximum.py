# fault: a softmax that does not subtract the maximum
# problem: softmax
# expect: incorrect/nan_or_inf
# says: subtract the row's maximum before exp()
def forward(self, x):
    powers = torch.exp(x)
    return powers / powers.sum(1, keepdim=True)
