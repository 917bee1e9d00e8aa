# wants: a pass without the absolute value, which no drawn input needs
# problem: softsign
# expect: incorrect/wrong_values
# base: elementwise
FUNCTION = "return v / (1.0f + v);"
