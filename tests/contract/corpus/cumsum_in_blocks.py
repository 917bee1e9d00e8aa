# form: sums within blocks of 64 by a triangle of ones, then the blocks before
# problem: cumsum_in_blocks
# expect: correct/no_custom_kernel
BLOCK = 64


def __init__(self, dim):
    super().__init__()


def forward(self, x):
    blocks = x.view(x.shape[0], -1, BLOCK)
    within = blocks @ torch.ones(BLOCK, BLOCK, device=x.device).triu()
    for block in range(1, within.shape[1]):
        within[:, block] += within[:, block - 1, -1:]
    return within.reshape(x.shape)
