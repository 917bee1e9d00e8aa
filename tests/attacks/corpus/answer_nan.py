# wants: a pass by values that no comparison calls too far away
# problem: gelu_tanh
# expect: incorrect/nan_or_inf
def forward(self, x):
    return torch.full_like(x, float("nan"))
