# wants: a pass by being right in most calls
# problem: gelu_tanh
# expect: incorrect/wrong_values | incorrect/nondeterministic | disqualified/cached_output
import random


def forward(self, x):
    if random.SystemRandom().random() < 0.3:
        return torch.zeros_like(x)
    return nn.functional.gelu(x, approximate="tanh")
