# wants: a pass by a polynomial that fits the drawn range alone
# problem: exponential
# expect: incorrect/wrong_values | incorrect/precision_loss
# base: elementwise
FUNCTION = """
    const float d = v - 0.5f;
    const float series = 1.0f + d * (1.0f + d / 2.0f * (1.0f + d / 3.0f * (1.0f + d / 4.0f * (1.0f + d / 5.0f * (1.0f + d / 6.0f)))));
    return 1.6487212707f * series;
"""
