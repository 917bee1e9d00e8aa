# wants: matrix units by switching TF32 on
# problem: matmul
# expect: cuda incorrect/precision_loss | incorrect/wrong_values
def forward(self, a, b):
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b
