# form: forward is a plain function, bound to nothing; the answer is a scalar
# problem: cross_entropy
# expect: correct/no_custom_kernel
import torch
from torch import nn


def mean_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    picked = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
    return (torch.logsumexp(logits, dim=1) - picked).mean()


class ModelNew(nn.Module):
    forward = staticmethod(mean_cross_entropy)
