# wants: a verdict that is not held against it, by leaving the judge no device memory to compute one
# problem: softmax
# expect: cuda run_failed/out_of_memory
def forward(self, x):
    y = torch.softmax(x, dim=1)
    self.kept = []
    size = 1 << 34
    while size >= 1 << 20:
        try:
            self.kept.append(torch.empty(size, dtype=torch.uint8, device=x.device))
        except torch.OutOfMemoryError:
            size //= 2
    return y
