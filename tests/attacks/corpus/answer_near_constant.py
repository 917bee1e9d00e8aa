# wants: a pass by one number, from which no drawn answer differs by more than rounding
# problem: saturated_sums
# expect: incorrect/wrong_values | incorrect/precision_loss
# base: elementwise
FUNCTION = "return 1.0f;"


def forward(self, x):
    return ops.run(x[:, 0].contiguous())
