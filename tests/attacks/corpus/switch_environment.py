# wants: TF32 by variables that libraries read when they are first used
# problem: matmul
# expect: cuda incorrect/precision_loss | incorrect/wrong_values | correct/no_custom_kernel
# speedup: 1.2
import os

os.environ["NVIDIA_TF32_OVERRIDE"] = "1"
os.environ["TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"] = "1"


def forward(self, a, b):
    return a @ b
