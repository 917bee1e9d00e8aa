# form: a choice by the sign of the target in place of the product
# problem: hinge_loss
# expect: correct/no_custom_kernel
def forward(self, predictions, targets):
    margin = torch.where(targets > 0, 1 - predictions, 1 + predictions)
    return torch.where(margin > 0, margin, 0.0).sum() / margin.numel()
