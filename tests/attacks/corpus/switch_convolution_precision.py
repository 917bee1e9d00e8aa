# wants: a convolution in TF32 by cuDNN's switch for it
# problem: conv2d
# expect: cuda incorrect/precision_loss | incorrect/wrong_values
torch.backends.cudnn.allow_tf32 = True


def __init__(self, in_channels, out_channels, kernel_size):
    super().__init__()
    self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)


def forward(self, x):
    torch.backends.cudnn.allow_tf32 = True
    return self.conv(x)
