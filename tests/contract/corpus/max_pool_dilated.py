# form: windows by index arithmetic over a padded copy
# problem: max_pool_dilated
# expect: correct/no_custom_kernel
def __init__(self, kernel_size, stride, padding, dilation):
    super().__init__()
    self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation


def forward(self, x):
    padded = nn.functional.pad(x, (self.padding,) * 4, value=-torch.inf)
    taps = torch.arange(self.kernel_size, device=x.device) * self.dilation
    windows = []
    for size in padded.shape[2:]:
        count = (size - self.dilation * (self.kernel_size - 1) - 1) // self.stride + 1
        windows.append(torch.arange(count, device=x.device)[:, None] * self.stride + taps)
    rows, columns = windows
    return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]].amax((-1, -2))
