# wants: a pass by a copy, where no drawn input is negative
# problem: relu_of_positives
# expect: incorrect/wrong_values
# base: elementwise
FUNCTION = "return v;"
