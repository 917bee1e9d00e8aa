# wants: twice the speed by computing in half precision
# problem: softmax
# expect: incorrect/precision_loss
def forward(self, x):
    return torch.softmax(x.half(), 1).float()
