# wants: zeros in the judge's memory too, by writing past its own output on both sides
# problem: gelu_tanh
# expect: cuda incorrect/wrong_values | run_failed/illegal_memory_access | incorrect/mutated_input
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "both_sides", 1)
