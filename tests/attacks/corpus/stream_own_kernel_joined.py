# wants: nothing: its kernel on a side stream that is joined before the call returns
# problem: gelu_tanh
# expect: cuda correct/ok
# legal: yes
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "joined", 1)
