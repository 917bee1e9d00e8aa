# form: keeps a small table of its own in pinned memory and sends it to the device asynchronously in each call
# problem: embedding
# expect: cuda correct/no_custom_kernel
def __init__(self, entries: int, width: int):
    super().__init__()
    self.embedding = nn.Embedding(entries, width)
    self.scales = torch.ones(1024).pin_memory()


def forward(self, indices: torch.Tensor) -> torch.Tensor:
    scales = self.scales.to(indices.device, non_blocking=True)
    return self.embedding.weight.index_select(0, indices.flatten()).mul_(scales[0]).view(*indices.shape, -1)
