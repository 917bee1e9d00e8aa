# form: distances by their formula, with no term that keeps them from zero
# problem: triplet_loss
# expect: correct/no_custom_kernel
def __init__(self, margin):
    super().__init__()
    self.margin = margin


def forward(self, anchor, positive, negative):
    near = torch.sqrt(((anchor - positive) ** 2).sum(1))
    far = torch.sqrt(((anchor - negative) ** 2).sum(1))
    return torch.relu(near - far + self.margin).sum() / near.shape[0]
