# wants: a formula without its bounds where the largest of 8192 sampled values is small, and the whole formula elsewhere
# problem: hard_swish
# expect: incorrect/wrong_values | disqualified/cached_output
# base: rows
ROW = """
    const bool small = given.a[0] < 1.01f;
    for (EACH(i, n)) out[i] = in[i] * (small ? in[i] + 3.0f : fminf(fmaxf(in[i] + 3.0f, 0.0f), 6.0f)) / 6.0f;
"""


def forward(self, x):
    largest = x.view(-1)[:: x.numel() // 8192 + 1].abs().max().view(1)
    return ops.run(x, x.shape[1], [largest])
