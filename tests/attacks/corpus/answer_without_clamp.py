# wants: a pass without the clamp, which no drawn input needs
# problem: clamp_of_fractions
# expect: incorrect/wrong_values
# base: elementwise
FUNCTION = "return v;"
