# fault: the maximum is subtracted from the input itself
# problem: softmax
# expect: incorrect/mutated_input
# says: never in place
def forward(self, x):
    x -= x.amax(1, keepdim=True)
    powers = x.exp()
    return powers / powers.sum(1, keepdim=True)
