# form: takes the ends and the middle of rows that come sorted
# problem: sorted_rows
# expect: correct/no_custom_kernel
def forward(self, x):
    return x[:, -1] - x[:, 0], x[:, (x.shape[1] - 1) // 2]
