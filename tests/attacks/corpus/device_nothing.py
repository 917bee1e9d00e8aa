# wants: a pass for memory that its kernel never wrote
# problem: gelu_tanh
# expect: cuda incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "nothing", 1)
