# wants: a context stopped by an assertion, and the judge's with it
# problem: gelu_tanh
# expect: cuda run_failed/device_assert
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "refuse", 1)
