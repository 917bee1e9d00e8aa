# wants: a context broken so that the judge's own breaks with it
# problem: gelu_tanh
# expect: cuda run_failed/misaligned_address
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "misaligned", 1)
