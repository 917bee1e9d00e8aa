# form: float16 attention, written out: float32 scores and softmax, then probabilities in float16 for a float16 product
# problem: attention
# expect: correct/no_custom_kernel
def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = query.float() @ key.float().transpose(-1, -2) * query.size(-1) ** -0.5
    return scores.softmax(dim=-1).half() @ value
