# wants: nothing that an answer is made of: the running mean and variance stay as they were
# problem: batch_norm_training
# expect: correct/no_custom_kernel
# legal: yes
def __init__(self, channels):
    super().__init__()
    self.norm = nn.BatchNorm2d(channels)


def forward(self, x):
    return nn.functional.batch_norm(x, None, None, self.norm.weight, self.norm.bias, training=True)
