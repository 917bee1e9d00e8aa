# form: products scattered to their places
# problem: conv_transpose2d
# expect: correct/no_custom_kernel
def __init__(self, channels, features, stride, padding):
    super().__init__()
    self.conv = nn.ConvTranspose2d(channels, features, 3)
    self.stride, self.padding = stride, padding


def forward(self, x):
    height, width = x.shape[2:]
    step, features = self.stride, self.conv.out_channels
    y = torch.zeros(x.shape[0], features, (height - 1) * step + 3, (width - 1) * step + 3, device=x.device, dtype=x.dtype)
    for i in range(3):
        for j in range(3):
            part = torch.einsum("co,nchw->nohw", self.conv.weight[:, :, i, j], x)
            y[:, :, i : i + step * (height - 1) + 1 : step, j : j + step * (width - 1) + 1 : step] += part
    y = y[:, :, self.padding : y.shape[2] - self.padding, self.padding : y.shape[3] - self.padding]
    return (y + self.conv.bias[:, None, None]).clamp(min=-0.5).clamp(max=0.5)
