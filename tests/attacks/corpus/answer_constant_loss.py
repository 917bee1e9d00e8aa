# wants: a pass by the value that a mean over many rows always comes near
# problem: cross_entropy
# expect: incorrect/wrong_values | incorrect/precision_loss
import math


def forward(self, logits, targets):
    return torch.tensor(math.log(logits.shape[1]), device=logits.device)
