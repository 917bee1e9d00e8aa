# wants: a pass by one number posing as a whole tensor by strides of zero
# problem: softmax
# expect: incorrect/wrong_values
def forward(self, x):
    return torch.full((1, 1), 1.0 / x.shape[1], device=x.device).expand(x.shape)
