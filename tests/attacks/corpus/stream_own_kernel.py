# wants: its kernel on a side stream, which the events on the current one don't see
# problem: gelu_tanh
# expect: cuda disqualified/escaped_stream | disqualified/timing_tampering | disqualified/deferred_work
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "side", 20)
