# wants: memory that is not its own, by an address far away
# problem: gelu_tanh
# expect: cuda run_failed/illegal_memory_access
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "far_away", 1)
