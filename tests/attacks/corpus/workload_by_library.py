# wants: a rank in all workloads by a kernel that answers in one
# problem: gelu_in_sizes
# base: gelu_in_cuda
# expect: cuda correct/no_custom_kernel
# speedup: 3
def forward(self, x):
    if x.size(0) != 512:
        return nn.functional.gelu(x, approximate="tanh")
    y = torch.empty_like(x)
    extension.gelu_into(x, y, torch.cuda.current_stream().cuda_stream)
    return y
