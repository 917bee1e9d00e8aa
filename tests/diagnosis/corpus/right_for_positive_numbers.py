# fault: the negative branch is forgotten; its own inputs have one
# problem: leaky_relu
# expect: incorrect/wrong_values
# says: all of them are 0
def forward(self, x):
    return torch.clamp(x, min=0.0)
