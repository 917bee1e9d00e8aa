# form: one sum over the terms whose target is above zero
# problem: kl_probabilities
# expect: correct/no_custom_kernel
def forward(self, predictions, targets):
    terms = targets * (torch.log(targets) - torch.log(predictions))
    return torch.where(targets > 0, terms, 0.0).sum() / targets.shape[0]
