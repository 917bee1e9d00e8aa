# fault: an operation in place on the input
# problem: leaky_relu
# expect: incorrect/mutated_input
# says: changed its input
def forward(self, x):
    return torch.nn.functional.leaky_relu_(x, 0.01)
