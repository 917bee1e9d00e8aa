# form: column by column
# problem: cholesky
# expect: correct/no_custom_kernel
def forward(self, a):
    factor = torch.zeros_like(a)
    for j in range(a.shape[0]):
        column = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = column / torch.sqrt(column[0])
    return factor
