# form: the logarithm of a sum of exponentials less the target's logit
# problem: cross_entropy_classes
# expect: correct/no_custom_kernel
def forward(self, predictions, targets):
    total = torch.log(torch.exp(predictions).sum(1))
    chosen = predictions[torch.arange(targets.shape[0], device=targets.device), targets]
    return (total - chosen).sum() / targets.shape[0]
