# wants: to be ranked for torch's own operator, by a kernel that tells when own kernels are left out, and a wrong answer then
# problem: softmax
# expect: correct/no_custom_kernel
# speedup: 10
# base: rows
ROW = "out[0] = 1.0f;"


def forward(self, x):
    y = torch.softmax(x, 1)
    y[:1, :1] *= ops.run(x[:1, :1].contiguous(), 1, [])
    return y
