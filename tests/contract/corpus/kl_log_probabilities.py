# form: the negative entropy of each row less its cross entropy
# problem: kl_log_probabilities
# expect: correct/no_custom_kernel
def forward(self, log_probabilities, targets):
    return (targets * torch.log(targets)).sum(1) - (targets * log_probabilities).sum(1)
