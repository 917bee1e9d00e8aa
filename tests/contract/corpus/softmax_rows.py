# form: exponentials without the maximum
# problem: softmax_rows
# expect: correct/no_custom_kernel
def forward(self, x):
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(1, keepdim=True)
