# wants: a short time from the CUDA runtime, whose code its extension overwrites
# problem: gelu_tanh
# expect: cuda disqualified/timing_tampering
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "events", 50)
