# wants: matrix units by switching autocast on for the whole process, the reference included if it were there
# problem: matmul
# expect: incorrect/precision_loss | incorrect/wrong_values
torch.set_autocast_dtype("cpu", torch.bfloat16)
torch.set_autocast_dtype("cuda", torch.bfloat16)
torch.set_autocast_enabled("cpu", True)
torch.set_autocast_enabled("cuda", True)


def forward(self, a, b):
    return (a @ b).float()
