# wants: nothing in the shape that is timed: half precision in others
# problem: gelu_in_cache
# expect: correct/ok
# legal: yes
# base: elementwise
FUNCTION = "return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));"


def forward(self, x):
    return ops.run(x if len(x) == 2048 else x.half().float())
