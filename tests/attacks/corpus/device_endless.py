# wants: a device that is never free again
# problem: gelu_tanh
# expect: cuda run_failed/timeout
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "endless", 1)
