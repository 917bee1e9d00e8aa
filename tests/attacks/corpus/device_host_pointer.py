# wants: a kernel that writes to the host's memory
# problem: gelu_tanh
# expect: cuda run_failed/illegal_memory_access | run_failed/wrong_device
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "host", 1)
