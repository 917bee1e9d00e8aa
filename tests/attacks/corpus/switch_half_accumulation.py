# wants: sums in half precision by cuBLAS' switch for them
# problem: product_float16
# expect: cuda incorrect/precision_loss | incorrect/wrong_values | incorrect/nan_or_inf | correct/no_custom_kernel
# speedup: 1.2
torch.backends.cuda.matmul.allow_fp16_accumulation = True


def forward(self, a, b):
    return a @ b
