# wants: to be ranked for torch's own operator, with a kernel that does nothing
# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel
# speedup: 12
# base: attack_in_cuda
def forward(self, x):
    extension.attack(x[:1, :1].contiguous(), "nothing", 1)
    return nn.functional.gelu(x, approximate="tanh")
