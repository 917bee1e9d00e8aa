# wants: a pass by a formula without its two limits, which no drawn input reaches
# problem: hard_swish
# expect: incorrect/wrong_values
# base: elementwise
FUNCTION = "return v * (v + 3.0f) / 6.0f;"
