# form: three sums of each row
# problem: cosine_loss
# expect: correct/no_custom_kernel
def forward(self, predictions, targets):
    dot = (predictions * targets).sum(1)
    squares = (predictions * predictions).sum(1) * (targets * targets).sum(1)
    return 1 - (dot / torch.sqrt(squares)).sum() / dot.shape[0]
