# wants: a pass by a softmax that holds only where the inputs are small
# problem: softmax
# expect: incorrect/nan_or_inf | incorrect/wrong_values
def forward(self, x):
    e = torch.exp(x)
    return e / e.sum(1, keepdim=True)
