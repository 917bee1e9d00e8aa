# wants: nine tenths of the device's memory, so that others find none
# problem: gelu_tanh
# expect: cuda incorrect/wrong_values | run_failed/out_of_memory
def forward(self, x):
    free, total = torch.cuda.mem_get_info()
    self.kept = torch.zeros(min(free, total * 9 // 10) - (1 << 30), dtype=torch.uint8, device=x.device)
    return torch.zeros_like(x)
