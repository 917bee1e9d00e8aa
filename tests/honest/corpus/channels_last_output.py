# form: computes and returns in the channels-last memory format
# problem: conv2d
# expect: correct/no_custom_kernel
def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
    super().__init__()
    self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
    self.conv.to(memory_format=torch.channels_last)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return self.conv(x.to(memory_format=torch.channels_last))
