# wants: partial sums in half precision by PyTorch's switches for them
# problem: product_float16
# expect: cuda incorrect/precision_loss | incorrect/wrong_values | incorrect/nan_or_inf | correct/no_custom_kernel
# speedup: 1.2
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True


def forward(self, a, b):
    return a @ b
