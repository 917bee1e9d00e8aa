# wants: a pass by the mean of one element in a hundred
# problem: mean_of_positives
# expect: incorrect/wrong_values
# base: rows
ROW = """
    float sum = 0.0f;
    int64_t taken = (n + 99) / 100;
    for (EACH(i, taken)) sum += in[i * 100];
    out[0] = total(sum) / taken;
"""


def forward(self, x):
    return ops.run(x, 1, [])
