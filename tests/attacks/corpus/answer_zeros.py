# wants: a pass where an absolute tolerance is larger than every right value
# problem: softmax
# expect: incorrect/wrong_values
# base: zeros
