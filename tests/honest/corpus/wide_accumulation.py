# form: float16 attention that accumulates in float32, one block of keys after the other, and rounds once
# problem: attention
# expect: correct/no_custom_kernel
import math

BLOCK = 512


def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    query = query.float() * query.size(-1) ** -0.5
    top = query.new_full(query.shape[:-1], -math.inf)
    total = torch.zeros_like(top)
    answer = torch.zeros_like(query)
    for start in range(0, key.size(-2), BLOCK):
        part = slice(start, start + BLOCK)
        scores = query @ key[..., part, :].float().transpose(-1, -2)
        joint = torch.maximum(top, scores.amax(dim=-1))
        shrink, powers = torch.exp(top - joint), torch.exp(scores - joint[..., None])
        total = total * shrink + powers.sum(dim=-1)
        answer = answer * shrink[..., None] + powers @ value[..., part, :].float()
        top = joint
    return (answer / total[..., None]).half()
