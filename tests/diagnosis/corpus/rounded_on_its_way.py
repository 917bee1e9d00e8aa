# fault: intermediate results are stored as bfloat16
# problem: softmax
# expect: incorrect/precision_loss
# says: bfloat16
def forward(self, x):
    exact = torch.softmax(x, 1)
    return exact.bfloat16().float()
