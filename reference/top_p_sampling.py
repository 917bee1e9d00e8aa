"""Top-p sampling: one of the most likely tokens, which together have a share p of the probability, is sampled with given noise.

The noise is exponential: each token has the largest ratio of probability to noise as often as it is likely.
"""

import torch
from torch import nn

rows = 512
vocabulary = 128256
share = 0.9

ASSAY = {
    "description": "Top-p sampling from logits and exponential noise: int64 tokens",
    "tags": ["sampling", "sort", "inference", "rows"],
    "level": 2,
    "source": "Holtzman et al., The Curious Case of Neural Text Degeneration, 2020",
    "cases": {"full": {}, "small": {"rows": 37, "vocabulary": 1009}},
    "rows_independent": True,
    "floor": {"reads": [0]},
}


class Model(nn.Module):
    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Two of shape (rows, vocabulary) to int64 (rows,). A token is kept if those that are likelier have less than the share."""
        probabilities = logits.softmax(dim=1)
        ordered = probabilities.sort(dim=1, descending=True).values
        kept = ordered.cumsum(dim=1) - ordered < self.share
        least = ordered.masked_fill(~kept, torch.inf).amin(dim=1, keepdim=True)
        return (probabilities / noise).masked_fill(probabilities < least, 0.0).argmax(dim=1)


def get_inputs() -> list[torch.Tensor]:
    logits = torch.randn(rows, vocabulary) * (1.0 + 2.0 * torch.rand(rows, 1))
    return [logits, torch.empty(rows, vocabulary).exponential_() + 1e-6]


def get_init_inputs() -> list[float]:
    return [share]
