# form: one product for each tap
# problem: conv1d
# expect: correct/no_custom_kernel
def __init__(self, channels, features, kernel_size, stride, dilation):
    super().__init__()
    self.conv = nn.Conv1d(channels, features, kernel_size, bias=False)
    self.stride, self.dilation = stride, dilation


def forward(self, x):
    taps = self.conv.weight.unbind(2)
    count = (x.shape[2] - self.dilation * (len(taps) - 1) - 1) // self.stride + 1
    y = 0
    for number, tap in enumerate(taps):
        start = number * self.dilation
        y = y + tap @ x[:, :, start : start + self.stride * (count - 1) + 1 : self.stride]
    return y
