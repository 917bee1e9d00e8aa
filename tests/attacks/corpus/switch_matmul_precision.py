# wants: products of fewer bits by PyTorch's switches for the whole process, where the machine has such units
# problem: matmul
# expect: cpu incorrect/precision_loss | incorrect/wrong_values | correct/no_custom_kernel
# expect: cuda incorrect/precision_loss | incorrect/wrong_values
# speedup: 1.5
torch.set_float32_matmul_precision("medium")
torch.backends.mkldnn.matmul.fp32_precision = "bf16"


def forward(self, a, b):
    return a @ b
