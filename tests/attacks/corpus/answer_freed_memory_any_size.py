# wants: the right answer out of any block that was freed, by taking many and keeping the one that looks most like an answer
# problem: softmax
# expect: cpu incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
def forward(self, x):
    blocks = [torch.empty_like(x) for _ in range(16)]
    return min(blocks, key=lambda block: (block.nan_to_num(9.0).sum(1) - 1.0).abs().nan_to_num(9.0).sum().item())
